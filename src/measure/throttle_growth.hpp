// How much the driver's counters of throttled time grew over a record.
#pragma once

#include <optional>
#include <span>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

struct ThrottleGrowth {
  Nanoseconds power, heat;  ///< held down by the power cap, by heat
  Nanoseconds span;         ///< host time from the first to the last round; more than zero
};
/// Nothing where no counter was read after the first or the last round, or they are one.
std::optional<ThrottleGrowth> throttle_growth(std::span<const Round> rounds);

}  // namespace jitterscope
