#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/names.hpp"
#include "cli/commands.hpp"
#include "cli/model_target.hpp"
#include "output/list_table.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

struct ListFlags {
  std::string what, json;
};

constexpr const char* kExamples = R"(Examples:
  jitterscope list
  jitterscope list operations
  jitterscope list providers
  jitterscope list resnet18
  jitterscope list resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop
  jitterscope list resnet18 --json -)";

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = {"operations", "devices", "providers", "models"};
  return names;
}

bool is_section(const std::string& what) {
  return std::find(section_names().begin(), section_names().end(), what) != section_names().end();
}

std::vector<ModelListing> read_models() {
  std::vector<ModelListing> listings;
  for (const std::string& name : known_models()) {
    ModelListing listing;
    listing.name = name;
    try {
      const auto model = find_known_model(name);
      if (!model) continue;
      listing.description = model->description;
      listing.operations = model->layers.size();
      for (const Layer& layer : model->layers) listing.layers += layer.count();
    } catch (const UsageError& error) {
      listing.problem = error.what();
    }
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

Listing read_sections(const std::string& what) {
  const auto is_asked_for = [&](std::string_view section) { return what.empty() || what == section; };
  Listing listing;
  listing.operations = is_asked_for("operations");
  if (is_asked_for("devices")) listing.devices = list_devices();
  if (is_asked_for("providers")) listing.providers = read_providers();
  if (is_asked_for("models")) listing.models = read_models();
  return listing;
}

// No device is opened for a model: a list of layers is wanted at once.
Model read_named_model(const std::string& what) {
  if (std::optional<Model> model = find_known_model(what)) return *std::move(model);
  const bool is_path = what.find('/') != std::string::npos || what.ends_with(".json");
  if (is_path || std::filesystem::exists(what)) return load_model(what);
  std::vector<std::string> known = known_models();
  known.insert(known.end(), section_names().begin(), section_names().end());
  throw UsageError(fmt::format("'{}' is no model{}", what, suggestion(what, known)));
}

void run(const ListFlags& flags) {
  std::optional<OutputFile> file;
  if (!flags.json.empty()) file.emplace(flags.json);
  std::string text, json;
  if (flags.what.empty() || is_section(flags.what)) {
    const Listing listing = read_sections(flags.what);
    text = list_text(listing);
    json = list_json(listing);
  } else {
    const Model model = read_named_model(flags.what);
    text = model_text(model);
    json = model_json(model);
  }
  if (flags.json != "-") fmt::print("{}", text);
  if (file) file->commit(json);
}

}  // namespace

void add_list_command(CLI::App& app, Invocation&) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* command =
      app.add_subcommand("list", "operations, devices, providers, models; the layers of a model");
  command->add_option(
      "what", flags->what,
      "operations, devices, providers, models, or a model's name or file; all four if left out");
  command->add_option("--json", flags->json, "write the list as JSON to PATH or - (stdout)");
  command->footer(kExamples);
  command->callback([flags] { run(*flags); });
}

}  // namespace jitterscope::cli
