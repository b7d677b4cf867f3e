#include "commands/list/table.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/values.hpp"
#include "study/study.hpp"

namespace jitterscope {
namespace {

std::string heading(std::string_view title) { return fmt::format("## {}\n\n", title); }

// Returns an item such as "- **cuda:0**: missing: …", because sentences do not fit in a column.
std::string item(const std::string& name, const std::string& text, std::size_t width) {
  return wrapped(fmt::format("- **{}**: {}", one_line(name), one_line(text)), width, 2);
}

std::string parameters_text(const OperationHelp& help, std::size_t width) {
  std::string text;
  for (const ParameterHelp& parameter : help.parameters) {
    const std::string value =
        parameter.default_value.empty() ? "required" : "default " + parameter.default_value;
    text += wrapped(fmt::format("- {} ({}): {}", parameter.name, value, parameter.meaning), width, 2);
  }
  return text.empty() ? text : text + '\n';
}

std::string operations_text(std::size_t width) {
  std::string text = heading("Operations");
  for (const OperationHelp& help : operation_help()) {
    text += wrapped(fmt::format("**{}**: {}", help.kind, help.summary), width) + '\n' +
            parameters_text(help, width);
    // Quotes examples with parentheses, which the shell would interpret.
    const std::string_view quote = help.example.find('(') == std::string::npos ? "" : "'";
    text += fmt::format("Example: `jitterscope run {1}{0}{1}`\n\n", help.example, quote);
  }
  return text + wrapped(
                    "Any parameter takes a list or a range: n=1,2,4 or n=1..64*2 or n=1..9+2. Numbers may "
                    "end in Ki, Mi or Gi.",
                    width);
}

// Lists the operations briefly, beside other sections, and says where to find the rest.
std::string operations_overview(std::size_t width) {
  std::string text = heading("Operations");
  for (const OperationHelp& help : operation_help()) text += item(help.kind, help.summary, width);
  return text + '\n' +
         wrapped("`jitterscope list operations` shows their parameters, with an example of each.", width);
}

std::string devices_text(const std::vector<DeviceListing>& devices, std::size_t width) {
  std::string text = heading("Devices");
  for (const DeviceListing& device : devices) {
    text += item(device.id, device.problem.empty() ? device.name : "missing: " + device.problem, width);
  }
  return text;
}

std::string providers_text(const std::vector<ProviderListing>& providers, std::size_t width) {
  std::string text = heading("Providers");
  for (const ProviderListing& provider : providers) {
    const std::string state = !provider.problem.empty()  ? "missing: " + provider.problem
                              : provider.version.empty() ? "part of jitterscope"
                                                         : "found " + provider.version;
    text += item(provider.name + " on " + provider.device,
                 fmt::format("{}; {}", joined(provider.operations), state), width);
  }
  return text;
}

std::string models_text(const std::vector<ModelListing>& models, std::size_t width) {
  std::string text = heading("Models");
  for (const ModelListing& model : models) {
    text += item(model.name,
                 model.problem.empty() ? fmt::format("{}, {} different; {}", counted(model.layers, "layer"),
                                                     model.operations, model.description)
                                       : "damaged: " + model.problem,
                 width);
  }
  return text + (models.empty() ? "None found; set JITTERSCOPE_MODELS to folders to look in.\n"
                                : "\n`jitterscope list MODEL` shows its layers.\n");
}

std::string counter_item(const Counter& counter, std::size_t width) {
  std::string text = counter.description.empty() ? "no description" : counter.description;
  if (!counter.unit.empty()) text += fmt::format(" [{}]", counter.unit);
  return item(counter.name, text, width);
}

std::string counters_text(const CounterListing& listing, bool all, std::size_t width) {
  std::string text = heading("Counters of " + one_line(listing.subject));
  if (!listing.note.empty()) text += wrapped(listing.note, width) + '\n';
  std::string others;
  std::int64_t default_count = 0, other_count = 0;
  for (const Counter& counter : listing.counters) {
    (counter.is_default ? default_count : other_count) += 1;
    if (!counter.is_default) others += counter_item(counter, width);
  }
  if (default_count > 0) text += "The default set of `run --counters`:\n\n";
  for (const Counter& counter : listing.counters) {
    if (counter.is_default) text += counter_item(counter, width);
  }
  if (other_count == 0) return text;
  if (default_count > 0) text += '\n';
  const bool few = other_count <= 20;
  if (!all && !few) {
    return text +
           wrapped(fmt::format("Another {} are for `run --counters NAME,NAME`: `--only dram` lists those "
                               "in whose name or description dram is found, `--only .` all of them.",
                               other_count),
                   width);
  }
  text += default_count > 0 ? "Others, for `run --counters NAME,NAME`:\n\n"
                            : "For `run --counters NAME,NAME`:\n\n";
  return text + others;
}

std::string studies_text(std::size_t width) {
  std::string text = heading("Studies");
  for (const study::StudySummary& study : study::list_studies()) {
    text += item(std::string(study.id), fmt::format("{} For {}.", study.question, study.concerns), width);
  }
  return text + '\n' +
         wrapped("`jitterscope study NAME` runs one, on your own work or on an example.", width).lines();
}

ProviderListing of_library(std::string name, std::string device, std::vector<std::string> operations,
                           std::span<const LibraryInfo> libraries, const std::string& device_problem) {
  ProviderListing listing{std::move(name), std::move(device), std::move(operations), "", device_problem};
  if (!device_problem.empty()) return listing;
  const auto library = std::find_if(libraries.begin(), libraries.end(),
                                    [&](const LibraryInfo& entry) { return entry.name == listing.name; });
  if (library == libraries.end()) {
    listing.problem = "this build does not have it";
    return listing;
  }
  listing.version = library->version;
  listing.problem = library->problem;
  return listing;
}

}  // namespace

std::vector<ProviderListing> list_providers(std::span<const LibraryInfo> cpu_libraries,
                                            std::span<const LibraryInfo> cuda_libraries,
                                            const std::string& cuda_problem) {
  const std::vector<std::string> own = {"copy", "fill", "add", "relu", "spin"};
  return {of_library("onednn", "cpu", {"conv2d", "matmul", "linear"}, cpu_libraries, ""),
          {"builtin", "cpu", own, "", ""},
          of_library("torch", "cpu", {"aten"}, cpu_libraries, ""),
          of_library("cudnn", "cuda", {"conv2d"}, cuda_libraries, cuda_problem),
          of_library("cublaslt", "cuda", {"matmul", "linear"}, cuda_libraries, cuda_problem),
          of_library("nvrtc", "cuda", {"cuda"}, cuda_libraries, cuda_problem),
          {"builtin", "cuda", own, "", cuda_problem},
          of_library("torch", "cuda", {"aten"}, cuda_libraries, cuda_problem)};
}

std::string list_text(const Listing& listing, std::size_t width) {
  const bool alone = !listing.devices && !listing.providers && !listing.models && !listing.studies;
  std::string text;
  const auto add = [&](const std::string& section) { text += (text.empty() ? "" : "\n") + section; };
  if (listing.operations) add(alone ? operations_text(width) : operations_overview(width));
  if (listing.devices) add(devices_text(*listing.devices, width));
  if (listing.providers) add(providers_text(*listing.providers, width));
  if (listing.models) add(models_text(*listing.models, width));
  if (listing.studies) add(studies_text(width));
  if (listing.counters) add(counters_text(*listing.counters, listing.all_counters, width));
  return text;
}

namespace {

constexpr double kGiga = 1e9, kMega = 1e6;

std::string three_digits(double value) { return fmt::format("{:.3g}", value); }
double flops_of(const Layer& layer) { return layer.operation.flops(); }
double bytes_of(const Layer& layer) { return static_cast<double>(layer.operation.bytes().value()); }

// Shortens the names of a layer that a model runs, say, sixteen times; the JSON has all names.
std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= 2) return names.size() == 1 ? names[0] : fmt::format("{}, {}", names[0], names[1]);
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

struct Total {
  std::int64_t layers = 0;
  double flops = 0.0, bytes = 0.0;
};

Total total_of(const Model& model) {
  Total total;
  for (const Layer& layer : model.layers) {
    total.layers += layer.count();
    total.flops += flops_of(layer) * static_cast<double>(layer.count());
    total.bytes += bytes_of(layer) * static_cast<double>(layer.count());
  }
  return total;
}

}  // namespace

std::string model_text(const Model& model, std::size_t width) {
  TableColumn numbers{"#", Align::right, {}}, counts{"count", Align::right, {}},
      operations{"operation", Align::left, {}}, flops{"GFLOP", Align::right, {}, 1},
      bytes{"MB", Align::right, {}, 2}, names{"layers", Align::left, {}, 3};
  for (const Layer& layer : model.layers) {
    numbers.cells.push_back(std::to_string(numbers.cells.size() + 1));
    counts.cells.push_back(std::to_string(layer.count()));
    operations.cells.push_back(layer.operation.text());
    flops.cells.push_back(three_digits(flops_of(layer) / kGiga));
    bytes.cells.push_back(three_digits(bytes_of(layer) / kMega));
    names.cells.push_back(names_text(layer.names));
  }
  const Total total = total_of(model);
  std::string heading = fmt::format("**{}**: {}", one_line(model.name), one_line(model.description));
  if (!heading.ends_with('.')) heading += '.';
  if (!model.recorded_device.empty())
    heading += fmt::format(" Recorded on {}.", one_line(model.recorded_device));
  if (!model.recorded_cudnn.empty()) heading += fmt::format(" cuDNN {}.", one_line(model.recorded_cudnn));
  std::string text = wrapped(heading, width);
  text += wrapped(
      fmt::format(
          "{}, {}; together {:.4g} GFLOP and at least {:.4g} MB moved. The columns GFLOP and MB are for "
          "one launch.",
          counted(total.layers, "layer") + (model.untimed.empty() ? "" : " that can be timed"),
          counted(std::ssize(model.layers), "different operation"), total.flops / kGiga, total.bytes / kMega),
      width);
  std::string shortened;
  if (const std::vector<TableColumn> keys = {numbers, counts, operations}; table_width(keys) > width) {
    const OperationLabels labels = label_operations(operations.cells);
    operations.cells = labels.labels;
    shortened =
        fmt::format("Operations are shortened{}; `jitterscope run` with --dry-run writes them in full.",
                    labels.common.empty() ? "" : ", and all have " + labels.common);
  }
  text += '\n' +
          fitted_table({numbers, counts, operations, flops, bytes, names}, width, AllColumns::file_of_json);
  if (!shortened.empty()) text += '\n' + wrapped(shortened, width);
  const std::string untimed = untimed_text(model.untimed, model.recorded_gpu_time, width);
  if (!untimed.empty()) {
    text += '\n' + untimed +
            wrapped("That holds on every device; `run` says what else one has no provider for.", width);
  }
  for (const std::string& note : model.notes) text += '\n' + wrapped(one_line(note), width);
  return text;
}

namespace {

Json operations_json() {
  Json array = Json::array();
  for (const OperationHelp& help : operation_help()) {
    Json object = {{"kind", help.kind}, {"summary", help.summary}, {"example", help.example}};
    object["parameters"] = Json::array();
    for (const ParameterHelp& parameter : help.parameters) {
      Json entry = {{"name", parameter.name}, {"meaning", parameter.meaning}};
      put(entry, "default", parameter.default_value);
      object["parameters"].push_back(std::move(entry));
    }
    array.push_back(std::move(object));
  }
  return array;
}

Json devices_json(const std::vector<DeviceListing>& devices) {
  Json array = Json::array();
  for (const DeviceListing& device : devices) {
    Json object = {{"id", device.id}};
    put(object, "name", device.name);
    put(object, "problem", device.problem);
    array.push_back(std::move(object));
  }
  return array;
}

Json providers_json(const std::vector<ProviderListing>& providers) {
  Json array = Json::array();
  for (const ProviderListing& provider : providers) {
    Json object = {{"name", provider.name}, {"device", provider.device}, {"operations", provider.operations}};
    put(object, "version", provider.version);
    put(object, "problem", provider.problem);
    array.push_back(std::move(object));
  }
  return array;
}

Json counters_json(const CounterListing& listing) {
  Json array = Json::array();
  for (const Counter& counter : listing.counters) {
    Json object = {{"name", counter.name}, {"default", counter.is_default}};
    put(object, "unit", counter.unit);
    put(object, "description", counter.description);
    object["quantity"] = identifier(to_string(counter.quantity));
    put(object, "stall_reason", counter.stall_reason);
    array.push_back(std::move(object));
  }
  return array;
}

Json models_json(const std::vector<ModelListing>& models) {
  Json array = Json::array();
  for (const ModelListing& model : models) {
    Json object = {{"name", model.name}};
    if (model.problem.empty()) {
      object["description"] = model.description;
      object["layers"] = model.layers;
      object["operations"] = model.operations;
    } else {
      object["problem"] = model.problem;
    }
    array.push_back(std::move(object));
  }
  return array;
}

Json studies_json() {
  Json array = Json::array();
  for (const study::StudySummary& study : study::list_studies()) {
    array.push_back({{"id", study.id}, {"question", study.question}, {"concerns", study.concerns}});
  }
  return array;
}

Json plans_json(const std::vector<RecordedPlan>& plans) {
  Json array = Json::array();
  for (const RecordedPlan& plan : plans) {
    Json object = {{"tag", plan.tag}};
    put(object, "workspace_bytes", plan.workspace);
    put(object, "seconds", plan.time);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace

std::string list_json(const Listing& listing) {
  Json document = {{"format", "jitterscope-list"}, {"version", 1}};
  if (listing.operations) document["operations"] = operations_json();
  if (listing.devices) document["devices"] = devices_json(*listing.devices);
  if (listing.providers) document["providers"] = providers_json(*listing.providers);
  if (listing.models) document["models"] = models_json(*listing.models);
  if (listing.studies) document["studies"] = studies_json();
  if (listing.counters) {
    document["counters_of"] = listing.counters->subject;
    document["counters"] = counters_json(*listing.counters);
  }
  return json_text(document);
}

std::string model_json(const Model& model) {
  Json document = {{"format", "jitterscope-layers"}, {"version", 1}};
  document["name"] = model.name;
  document["description"] = model.description;
  put(document, "record", model.format);
  put(document, "recorded_device", model.recorded_device);
  put(document, "recorded_cudnn", model.recorded_cudnn);
  put(document, "recorded_gpu_seconds", model.recorded_gpu_time);
  document["layers"] = Json::array();
  for (const Layer& layer : model.layers) {
    Json object = {{"operation", layer.operation.text()}, {"count", layer.count()}, {"names", layer.names}};
    put(object, "source", layer.source);
    if (layer.aten) object["aten"] = layer.aten->text();
    put(object, "flops", layer.operation.flops());
    put(object, "minimum_bytes", layer.operation.bytes());
    put(object, "recorded_seconds", layer.recorded_time());
    if (!layer.recorded_kernels.empty()) object["recorded_kernels"] = layer.recorded_kernels;
    if (!layer.recorded_plans.empty()) object["recorded_plans"] = plans_json(layer.recorded_plans);
    document["layers"].push_back(std::move(object));
  }
  document["untimed"] = write_value(model.untimed);
  document["notes"] = model.notes;
  return json_text(document);
}

}  // namespace jitterscope
