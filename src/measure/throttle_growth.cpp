#include "measure/throttle_growth.hpp"

namespace jitterscope {

std::optional<ThrottleGrowth> throttle_growth(std::span<const Round> rounds) {
  const auto &first = rounds.front().sensors, &last = rounds.back().sensors;
  const Nanoseconds span = rounds.back().started - rounds.front().started;
  if (!first || !last || !first->throttled_power || !last->throttled_power || span <= Nanoseconds(0))
    return std::nullopt;
  const Nanoseconds none(0);
  return ThrottleGrowth{*last->throttled_power - *first->throttled_power,
                        last->throttled_thermal.value_or(none) - first->throttled_thermal.value_or(none),
                        span};
}

}  // namespace jitterscope
