// What a device's name says without opening it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/counters.hpp"

namespace jitterscope {

/// `virtual`, `virtual:PRESET`, `virtual:FILE.toml`, each with what is switched off behind a comma.
bool names_virtual_device(std::string_view name);

// What can be counted, on a device at hand or on a GPU that need not be there.

struct CounterListing {
  std::string subject;  ///< "NVIDIA H200 (cuda:0)", or a chip: "GH100"
  std::string note;     ///< a sentence: why a chip's, where a device was asked for; else empty
  std::vector<Counter> counters;
};

/// Of a device as open_device takes it. `auto` is the first GPU; where there is none, the counters are those
/// of GH100 (H100, H200), which CUPTI knows without the GPU. Throws what opening throws, MissingError where
/// the device has none.
CounterListing list_counters(std::string_view device);

/// Of a GPU by its chip's name as NVIDIA writes it. Throws UsageError that names the nearest where CUPTI
/// knows no such chip, MissingError where CUPTI is not there.
CounterListing list_chip_counters(const std::string& chip);

}  // namespace jitterscope
