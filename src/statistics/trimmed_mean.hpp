// A mean that a few spoilt values do not move.
#pragma once

#include <optional>
#include <span>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

struct TrimmedMean {
  double value = 0.0;
  Interval interval;     ///< 95 %
  double p_value = 1.0;  ///< of a mean of zero, two-sided
};
/// Mean without the fifth of the values at each end, with the interval of Tukey and McLaughlin (Sankhya A 25,
/// 1963): Student's, from the winsorized variance, and a little wider for few values. Of 6 values 4 are kept,
/// of 4 all. Nothing for fewer than 2.
std::optional<TrimmedMean> trimmed_mean(std::span<const double> values);

}  // namespace jitterscope::statistics
