// Whether two measurements of unpaired rounds differ.
#pragma once

#include <optional>
#include <span>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// How far the second sample's level lies from the first one's, as a difference of logarithms.
struct Shift {
  double value = 0.0;  ///< log(second) - log(first)
  Interval interval;

  bool excludes_zero() const { return interval.low > 0.0 || interval.high < 0.0; }
};

/// Hodges and Lehmann's estimate, the median of all differences of logarithms, with the interval that inverts
/// Mann and Whitney's test: exact where both have at most 20 values, its normal approximation above. Holds
/// for independent values of any distribution, shifted. Nothing where there are too few values for the
/// confidence (4 in each at 95 %), or one is not positive.
std::optional<Shift> compare_samples(std::span<const double> first, std::span<const double> second,
                                     double confidence = 0.95);

/// Rounds of two measurements: their times, and their clocks where known (else empty).
struct ClockedTimes {
  std::span<const double> times, clocks;
};
struct Difference {
  Shift time;
  std::optional<Shift> cycles;  ///< of time × clock; nothing unless all clocks are known
  /// The time's interval excludes zero, and where clocks are known that of the cycles does too, on the same
  /// side. A clock that moved between the two takes time and cycles apart: of a time a + b/f the share
  /// (b/f)/t, at most one, follows the clock, so cycles move the other way or not at all.
  bool differs = false;
};
/// Nothing where compare_samples gives nothing. Throws std::invalid_argument where there are clocks, but not
/// one for each time.
std::optional<Difference> find_difference(const ClockedTimes& first, const ClockedTimes& second,
                                          double confidence = 0.95);

}  // namespace jitterscope::statistics
