#include "output/estimate_text.hpp"

#include <fmt/format.h>

#include "base/quantity_text.hpp"

namespace jitterscope {

std::string estimate_text(const TimeEstimate& estimate) {
  if (estimate.rounds == 0) return std::string(kAbsent);
  if (has_interval(estimate)) {
    const double precision = estimate.precision();
    const std::string median = time_text(estimate.median, precision);
    if (reads_as_plus_minus(estimate)) return fmt::format("{} ± {}", median, percent_text(precision));
    return fmt::format("{} ({})", median, time_range_text(estimate.low, estimate.high, precision));
  }
  return fmt::format("{}, no interval ({})", time_text(estimate.median), counted(estimate.rounds, "round"));
}

}  // namespace jitterscope
