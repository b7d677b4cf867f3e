// Operands for launches: the same for all, or a set for each that has left the cache before its turn comes
// again.
#pragma once

#include <cstddef>
#include <limits>

#include "jitterscope/measure.hpp"
#include "measure/rotating_workload.hpp"

namespace jitterscope {

/// How many sets fresh data takes: three times the last-level cache goes by between two launches on one.
/// Throws UsageError, with the numbers and what to do, where that is more than the memory holds or can be
/// prepared in reasonable time, or where the size of the cache is not known.
std::size_t sets_for_fresh_data(const DeviceDescription& device, const Operation& operation);

inline constexpr std::size_t kAnyNumberOfLaunches = std::numeric_limits<std::size_t>::max();
/// One set, or those for fresh data where the options ask for it, but never more than there are launches.
RotatingWorkload prepare_sets(Device& device, const Operation& operation, const MeasureOptions& options,
                              std::size_t launches);

}  // namespace jitterscope
