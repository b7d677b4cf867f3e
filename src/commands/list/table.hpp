// Prints and writes the result of `list`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/open_device.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "operation/model.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// A library that runs operations on a device.
struct ProviderListing {
  std::string name, device;
  std::vector<std::string> operations;
  std::string version;  ///< empty for the tool's own code, or if there is a problem
  std::string problem;  ///< reason why it cannot be used; empty if it can
};
/// Returns the providers of the CPU and of CUDA. `cuda_problem` says why no GPU can be used; then CUDA's
/// libraries were not searched for.
std::vector<ProviderListing> list_providers(std::span<const LibraryInfo> cpu_libraries,
                                            std::span<const LibraryInfo> cuda_libraries,
                                            const std::string& cuda_problem);

/// A model file that was found: its content, or why it cannot be read.
struct ModelListing {
  std::string name, description;
  std::int64_t layers = 0;  ///< with repetitions
  std::size_t operations = 0;
  std::string problem;
};

/// Sections to list; an empty one was not asked for.
struct Listing {
  bool operations = false, studies = false;
  std::optional<std::vector<DeviceListing>> devices;
  std::optional<std::vector<ModelListing>> models;
  std::optional<std::vector<ProviderListing>> providers;
  std::optional<CounterListing> counters;
  bool all_counters = false;  ///< false: the text has only the default set
};
std::string list_text(const Listing& listing, std::size_t width = kPageWidth);
std::string list_json(const Listing& listing);

std::string model_text(const Model& model, std::size_t width = kPageWidth);
std::string model_json(const Model& model);

}  // namespace jitterscope
