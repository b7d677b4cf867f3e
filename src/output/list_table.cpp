#include "output/list_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string heading(std::string_view title) { return fmt::format("## {}\n\n", title); }

std::string operations_text() {
  std::string text = heading("Operations");
  for (const OperationHelp& help : operation_help()) {
    TableColumn names{"parameter", Align::left, {}}, defaults{"default", Align::left, {}},
        meanings{"meaning", Align::left, {}};
    for (const ParameterHelp& parameter : help.parameters) {
      names.cells.push_back(parameter.name);
      defaults.cells.push_back(parameter.default_value.empty() ? "required" : parameter.default_value);
      meanings.cells.push_back(parameter.meaning);
    }
    const TableColumn columns[] = {names, defaults, meanings};
    text += wrapped(fmt::format("**{}**: {}", help.kind, help.summary), kPageWidth);
    // Parentheses are the shell's own.
    const std::string_view quote = help.example.find('(') == std::string::npos ? "" : "'";
    text += "\n" + (help.parameters.empty() ? "" : markdown_table(columns) + "\n");
    text += fmt::format("Example: `jitterscope run {1}{0}{1}`\n\n", help.example, quote);
  }
  return text + wrapped(
                    "Any parameter takes a list or a range: n=1,2,4 or n=1..64*2 or n=1..9+2. Numbers may "
                    "end in Ki, "
                    "Mi or Gi.",
                    kPageWidth);
}

std::string devices_text(const std::vector<DeviceListing>& devices) {
  TableColumn ids{"device", Align::left, {}}, states{"what it is", Align::left, {}};
  for (const DeviceListing& device : devices) {
    ids.cells.push_back(device.id);
    states.cells.push_back(device.problem.empty() ? device.name : "missing: " + device.problem);
  }
  const TableColumn columns[] = {ids, states};
  return heading("Devices") + markdown_table(columns);
}

std::string providers_text(const std::vector<ProviderListing>& providers) {
  TableColumn names{"provider", Align::left, {}}, devices{"device", Align::left, {}},
      operations{"operations", Align::left, {}}, states{"state", Align::left, {}};
  for (const ProviderListing& provider : providers) {
    names.cells.push_back(provider.name);
    devices.cells.push_back(provider.device);
    operations.cells.push_back(joined(provider.operations));
    states.cells.push_back(!provider.problem.empty()  ? "missing: " + provider.problem
                           : provider.version.empty() ? "part of jitterscope"
                                                      : "found " + provider.version);
  }
  const TableColumn columns[] = {names, devices, operations, states};
  return heading("Providers") + markdown_table(columns);
}

std::string models_text(const std::vector<ModelListing>& models) {
  TableColumn names{"model", Align::left, {}}, layers{"layers", Align::right, {}},
      operations{"different", Align::right, {}}, descriptions{"description", Align::left, {}};
  for (const ModelListing& model : models) {
    const bool readable = model.problem.empty();
    names.cells.push_back(model.name);
    layers.cells.push_back(readable ? std::to_string(model.layers) : std::string(kAbsent));
    operations.cells.push_back(readable ? std::to_string(model.operations) : std::string(kAbsent));
    descriptions.cells.push_back(readable ? model.description : "damaged: " + model.problem);
  }
  const TableColumn columns[] = {names, layers, operations, descriptions};
  const std::string hint = "\n`jitterscope list MODEL` shows its layers.\n";
  return heading("Models") + (models.empty() ? "None found; JITTERSCOPE_MODELS names folders to look in.\n"
                                             : markdown_table(columns) + hint);
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
          {"builtin", "cuda", own, "", cuda_problem},
          of_library("torch", "cuda", {"aten"}, cuda_libraries, cuda_problem)};
}

std::string list_text(const Listing& listing) {
  std::string text;
  const auto add = [&](const std::string& section) { text += (text.empty() ? "" : "\n") + section; };
  if (listing.operations) add(operations_text());
  if (listing.devices) add(devices_text(*listing.devices));
  if (listing.providers) add(providers_text(*listing.providers));
  if (listing.models) add(models_text(*listing.models));
  return text;
}

}  // namespace jitterscope
