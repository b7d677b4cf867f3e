#include "output/list_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"
#include "study/study.hpp"

namespace jitterscope {
namespace {

std::string heading(std::string_view title) { return fmt::format("## {}\n\n", title); }

// "- **cuda:0**: missing: …": sentences do not fit into a column.
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
    // Parentheses are the shell's own.
    const std::string_view quote = help.example.find('(') == std::string::npos ? "" : "'";
    text += fmt::format("Example: `jitterscope run {1}{0}{1}`\n\n", help.example, quote);
  }
  return text + wrapped(
                    "Any parameter takes a list or a range: n=1,2,4 or n=1..64*2 or n=1..9+2. Numbers may "
                    "end in Ki, Mi or Gi.",
                    width);
}

// Beside other sections: what there is, and where the rest stands.
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
  return text + (models.empty() ? "None found; JITTERSCOPE_MODELS names folders to look in.\n"
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
    text += item(std::string(study.id), fmt::format("{} Of {}.", study.question, study.concerns), width);
  }
  return text + "\n`jitterscope study NAME` runs one, of your own work or of an example.\n";
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

}  // namespace jitterscope
