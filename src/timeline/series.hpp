// Values that follow each other in time, such as those of a program's steps: neighbours are alike, since
// clocks, heat and inputs change slowly. What is known of such a series comes from a few long blocks of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope::timeline {

/// A series is cut into so many blocks, or has as many as values where it has fewer. Of 300 steps whose
/// neighbours correlate by 0.9, intervals from 20 blocks held 83 % of the time, from 10 with the correction
/// below 93 % (simulated, 1,000 series).
inline constexpr std::size_t kBlocks = 10;
/// Where the block begins of a series of that length.
inline std::size_t begin_of_block(std::size_t block, std::size_t blocks, std::size_t length) {
  return block * length / blocks;
}

/// How far a mean of blocks may be off.
struct ErrorOfBlocks {
  double error = 0.0;
  double freedom = 1.0;

  /// Half of the interval that holds 95 %.
  double half_width() const;
  double p_value(double value) const;
};
/// From one value for each block. That blocks are still like their neighbours is corrected for, by what they
/// correlate and by the bias that so few have.
ErrorOfBlocks error_of_blocks(std::span<const double> blocks);

struct MedianOfSeries {
  double median = 0.0;
  statistics::Interval interval;
};
MedianOfSeries median_of_series(const std::vector<double>& values);

/// 1.4826 times the median distance from `middle`: the standard deviation, if the values are normal.
double robust_deviation(std::span<const double> values, double middle);

/// Levels apart by less than 1 %, or by less than three robust deviations, are one; each has eight values or
/// more.
inline constexpr double kLeastChange = 0.01, kFewestDeviations = 3.0;
inline constexpr std::size_t kFewestOfLevel = 8;

/// A series cut into levels: between bounds[k] and bounds[k + 1] lies one.
struct LevelledSeries {
  double middle = 0.0;         ///< the median of all
  std::vector<double> within;  ///< the values, cut off where they are farther from it than a level must be
  std::vector<std::size_t> bounds;  ///< 0, where it changes, and the length
};
/// A single value far off is no level, so that values are cut off before changes are looked for. At least one
/// value.
LevelledSeries levels_of_series(const std::vector<double>& values);

/// A change of a series' level that stays to its end.
struct LevelShift {
  std::size_t at = 0;  ///< index of the first value of the later level
  MedianOfSeries before, after;

  double change() const { return after.median / before.median - 1.0; }
};
/// Looks for one in positive values: at least eight of each level, apart by at least 1 % and by three robust
/// deviations of either. What drifts, and a level that was left and came back, is none.
std::optional<LevelShift> level_shift_of(const std::vector<double>& values);

/// Which share of the variance of one series another explains, by a straight line of positive slope.
struct ShareOfSeries {
  double share = 0.0;
  statistics::Interval interval;
};
ShareOfSeries share_of_series(const std::vector<double>& cause, const std::vector<double>& values);

/// Pearson's correlation; 0 where one of them does not vary.
double correlation(std::span<const double> a, std::span<const double> b);

/// How two series move together: Spearman's coefficient, but for ties, and the chance of one as large between
/// series that know nothing of each other.
struct ShiftedCorrelation {
  double chance = 1.0;
  double coefficient = 0.0;
};
/// Shifts the series against each other, which keeps the likeness of neighbours: shuffling would call any two
/// slow drifts related. The second may come late by up to `delay` values: of each shift the best of so many
/// counts. Fewer than 20 values, and two delays, tell nothing.
ShiftedCorrelation correlation_by_shifts(const std::vector<double>& a, const std::vector<double>& b,
                                         std::size_t delay = 0);

}  // namespace jitterscope::timeline
