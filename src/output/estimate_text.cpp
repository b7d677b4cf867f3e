#include "output/estimate_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/quantity_text.hpp"

namespace jitterscope {

bool has_interval(const TimeEstimate& estimate) {
  constexpr std::int64_t kFewestRounds = 6;  // below, no pair of order statistics covers the median at 95 %
  return estimate.rounds >= kFewestRounds && std::isfinite(estimate.precision());
}

std::string estimate_text(const TimeEstimate& estimate) {
  if (estimate.rounds == 0) return std::string(kAbsent);
  if (has_interval(estimate)) {
    const double precision = estimate.precision();
    return fmt::format("{} ± {}", time_text(estimate.median, precision), percent_text(precision));
  }
  return fmt::format("{}, no interval ({})", time_text(estimate.median), counted(estimate.rounds, "round"));
}

}  // namespace jitterscope
