// Counters of a simulated GPU: what its model knows of a launch, by the names that a real GPU has for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/virtual/timeline.hpp"

namespace jitterscope::virtual_gpu {

/// Those that are read by default first.
std::vector<Counter> virtual_counters();

/// Those of these names, or the default set where none is named. Throws UsageError that names the nearest.
std::vector<Counter> find_virtual_counters(const std::vector<std::string>& names);

std::unique_ptr<CounterReader> count_virtual_launches(Timeline& timeline,
                                                      const std::vector<std::string>& names);

}  // namespace jitterscope::virtual_gpu
