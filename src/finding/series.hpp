// Rounds as series of numbers, and whether one series moves with another.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Below this, a difference between two estimates is not worth a sentence.
inline constexpr double kMaterialChange = 0.005;

/// The rounds that the estimate stands on: all, or the settled part of a sustained record.
std::span<const Round> settled_rounds(const Measurement& measurement);
/// Round medians in nanoseconds.
std::vector<double> round_times(std::span<const Round> rounds);
/// Round clocks in hertz; nothing unless every round has one.
std::optional<std::vector<double>> round_clocks(std::span<const Round> rounds);
/// Standard deviation over median, from the 10th and 90th percentile: one outlier does not move it, and a
/// second mode of a fifth of the values does.
double relative_spread(std::span<const double> values);

/// Relative change of the values from the lowest to the highest x, by a straight line through their
/// logarithms, so that nothing falls by more than all of it. Nothing where the line's slope might be chance:
/// below 99.8 % by Student's t, or fewer than 6 values.
std::optional<double> change_along(std::span<const double> x, std::span<const double> values);

/// Median of the last third over median of the first third, less one.
double change_over_record(std::span<const double> values);
/// A trend over the record that is neither chance nor smaller than the precision of the estimate or 0.5 %.
std::optional<double> drift_of(const Measurement& measurement);

}  // namespace jitterscope
