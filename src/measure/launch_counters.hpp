// What the device's hardware counters say of one launch.
#pragma once

#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Counts one launch in each of these cache states: in each pass of each, operands are put into their state
/// as they are for times, and the launch is made alone. Throws as Device::count does.
std::vector<LaunchCounters> count_launch(Device& device, Queue& queue, Workload& workload,
                                         const std::vector<std::string>& names,
                                         const std::vector<CacheState>& caches);

/// Cache states that a result has times of, in their order.
std::vector<CacheState> timed_caches(const Result& result);

}  // namespace jitterscope
