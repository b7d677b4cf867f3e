#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/list/table.hpp"
#include "device/open_device.hpp"
#include "model/named_models.hpp"
#include "operation/layer_pattern.hpp"
#include "operation/words.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

struct ListFlags {
  std::string what, json, only, device, chip;
};

constexpr const char* kListExamples = R"(Examples:
  jitterscope list
  jitterscope list operations
  jitterscope list providers
  jitterscope list studies
  jitterscope list resnet18
  jitterscope list counters --only dram
  jitterscope list counters --device virtual
  jitterscope list trace.json.gz
  jitterscope list resnet50 --only 'layer1.*conv'
  jitterscope list resnet18 --json -

Exit codes: 0 done, 2 usage, 3 counters need a device or CUPTI that is missing, 5 part of the file is missing or damaged (the rest is listed).)";

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = {"operations", "devices", "providers",
                                                 "models",     "studies", "counters"};
  return names;
}

bool is_section(const std::string& what) {
  return std::find(section_names().begin(), section_names().end(), what) != section_names().end();
}

ModelListing describe(const Model& model) {
  ModelListing listing;
  listing.name = model.name;
  listing.description = model.description;
  listing.operations = model.layers.size();
  for (const Layer& layer : model.layers) listing.layers += layer.count();
  return listing;
}

std::vector<ModelListing> read_models() {
  std::vector<ModelListing> listings;
  for (const ModelDescription& description : named_models()) {
    listings.push_back(describe(*named_model(description.name, {})));
    listings.back().description = description.sentence;
  }
  for (const std::string& name : model_names()) {
    const auto file = find_model(name);
    if (!file) continue;
    ModelListing listing;
    try {
      listing = describe(load_model(*file));
    } catch (const UsageError& error) {
      listing.problem = error.what();
    }
    listing.name = name;
    listings.push_back(std::move(listing));
  }
  return listings;
}

std::vector<ProviderListing> read_providers() {
  const std::vector<LibraryInfo> cpu = open_device("cpu")->describe().libraries;
  try {
    return list_providers(cpu, open_device("cuda")->describe().libraries, "");
  } catch (const Error& error) {
    return list_providers(cpu, {}, error.what());
  }
}

// A chip has thousands of counters, so they are read only on request.
CounterListing read_counters(const ListFlags& flags) {
  CounterListing listing = flags.chip.empty() ? list_counters(flags.device.empty() ? "auto" : flags.device)
                                              : list_chip_counters(flags.chip);
  if (flags.only.empty()) return listing;
  const LayerPattern pattern(flags.only);
  std::erase_if(listing.counters, [&](const Counter& counter) {
    return !pattern.finds(counter.name) && !pattern.finds(counter.description);
  });
  if (!listing.counters.empty()) return listing;
  throw UsageError(fmt::format("--only: no counter of {1} has '{0}' in its name or description",
                               printable(flags.only, 60), listing.subject));
}

void check_list_flags(const ListFlags& flags) {
  if (flags.what == "counters") {
    if (flags.device.empty() || flags.chip.empty()) return;
    throw UsageError("--device with --chip: name the one or the other");
  }
  if (!flags.device.empty() || !flags.chip.empty()) {
    throw UsageError("--device and --chip are only for jitterscope list counters");
  }
  if (!flags.only.empty() && (flags.what.empty() || is_section(flags.what))) {
    throw UsageError("--only needs a model whose layers to list");
  }
}

Listing read_sections(const ListFlags& flags) {
  const std::string& what = flags.what;
  const auto is_asked_for = [&](std::string_view section) { return what.empty() || what == section; };
  Listing listing;
  listing.operations = is_asked_for("operations");
  if (is_asked_for("devices")) listing.devices = list_devices();
  if (is_asked_for("providers")) listing.providers = read_providers();
  if (is_asked_for("models")) listing.models = read_models();
  listing.studies = is_asked_for("studies");
  if (what == "counters") {
    listing.counters = read_counters(flags);
    listing.all_counters = !flags.only.empty();
  }
  return listing;
}

Model read_model(const ListFlags& flags) {
  Model model = read_model_target(flags.what, section_names());
  if (flags.only.empty()) return model;
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.names.front());
  keep_layers(model, LayerPattern(flags.only));
  if (model.layers.empty()) fail_nothing_chosen(flags.only, names);
  return model;
}

ExitCode run(const ListFlags& flags) {
  check_list_flags(flags);
  ExitCode result = ExitCode::done;
  std::optional<OutputFile> file = output_file(flags.json);
  std::string text, json;
  if (flags.what.empty() || is_section(flags.what)) {
    const Listing listing = read_sections(flags);
    text = list_text(listing, page_width());
    json = list_json(listing);
  } else {
    const Model model = read_model(flags);  // opens no device, so that the list appears at once
    text = model_text(model, page_width());
    json = model_json(model);
    if (model.is_incomplete) result = ExitCode::failed;
  }
  if (flags.json != "-") print_result(text);
  if (file) file->commit(json);
  return result;
}

}  // namespace

void add_list_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<ListFlags>(
      app, "list", "list operations, devices, providers, models, studies, counters, or the layers of a model",
      kListExamples, [&](const ListFlags& typed, const CLI::App&) { invocation.exit_code = run(typed); });
  command.add_option(
      "what", flags.what,
      "operations, devices, providers, models, studies or counters; or a network, trace, log or model "
      "file, to show its layers (default: everything but counters)");
  command.add_option(
      "--only", flags.only,
      "list only layers whose name or operation, or counters whose name or description, matches this "
      "regular expression");
  command.add_option(
      "--device", flags.device,
      "list the counters of this device (default: the first GPU, or a GH100 if there is none)");
  command.add_option(
      "--chip", flags.chip,
      "list the counters of this chip, by NVIDIA's name: GA100, AD102; the GPU need not be here");
  command.add_option("--json", flags.json, "write the list as JSON to PATH or - (stdout)");
}

}  // namespace jitterscope::cli
