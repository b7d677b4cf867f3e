// Reads device names and lists hardware counters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/counters.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

/// True for `virtual`, `virtual:PRESET` and `virtual:FILE.toml`, also if `,without=…` follows.
bool names_virtual_device(std::string_view name);

/// True for `cpu`, and for `auto` where there is no GPU.
bool names_host(std::string_view name);

/// Returns the name of one rank's device: of a simulated cluster that is one of its GPUs. Throws UsageError
/// if it has no such rank.
std::string device_of_rank(const std::string& name, std::size_t rank);

/// Returns the device's own name, as `cuda:0` for `gpu`, and its model, without opening a GPU. A GPU that
/// cannot be used has a problem and no model. Throws UsageError for an unknown name.
DeviceListing listing_of(std::string_view name);

/// Splits the names of several devices of this host: "cuda:0 cuda:3"; cuda:all are all GPUs. Any other name
/// is one. Throws MissingError, with the reason, if there is no GPU.
std::vector<std::string> devices_named(std::string_view names);

// Counters of a device, or of a GPU's chip that need not be present.

struct CounterListing {
  std::string subject;  ///< "NVIDIA H200 (cuda:0)", or a chip: "GH100"
  std::string note;     ///< says why a chip is listed in place of the device asked for; else empty
  std::vector<Counter> counters;
};

/// Lists the counters of a device, named as for open_device. `auto` is the first GPU; without one, the
/// counters are those of GH100 (H100, H200), which CUPTI knows without the GPU. Throws what opening throws,
/// MissingError if the device has none.
CounterListing list_counters(std::string_view device);

/// Lists the counters of a GPU by NVIDIA's name of its chip. Throws UsageError that names the nearest chip if
/// CUPTI does not know this one, MissingError without CUPTI.
CounterListing list_chip_counters(const std::string& chip);

}  // namespace jitterscope
