// Effects: the difference between two things timed beside each other, from several processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// Hodges and Lehmann's estimate of the center of a symmetric distribution: the median of the means of all
/// pairs, including each value with itself. It is 95 % as efficient as a mean for normal values, and as
/// robust against outliers as a median. NaN for no values.
double hodges_lehmann(std::span<const double> values);

/// A difference of logarithms, log(second) - log(first).
struct Effect {
  double value = 0.0;
  Interval interval;                ///< 95 %; over processes, or over blocks if there is one process
  std::int64_t processes = 0;       ///< that gave a value; of two groups, the smaller one's
  double within = 0.0;              ///< standard error of one process's value, from its blocks
  double between = 0.0;             ///< standard deviation between processes beyond that; 0 for one process
  double p_value = 1.0;             ///< two-sided test of no effect
  std::vector<double> values = {};  ///< one for each process that gave a value, in order
  /// For two groups of processes: size of the larger one, root of the sum of their variances, and the degrees
  /// of freedom that one more process in each adds (Welch).
  struct Groups {
    std::int64_t larger = 0;
    double spread = 0.0, freedom = 1.0;
  };
  std::optional<Groups> groups = {};

  bool excludes_zero() const { return interval.low > 0.0 || interval.high < 0.0; }
};
/// From the paired differences of logarithms of each process's blocks. A process's value is Hodges and
/// Lehmann's estimate over its blocks; the effect is the mean with Student's interval. nullopt if no process
/// has a block, or the only one has fewer than two.
std::optional<Effect> effect_over_processes(std::span<const std::vector<double>> ratios);

/// From the logarithms that two groups of processes measured at different times: the difference of their
/// means with Welch's interval. nullopt if a group has fewer than two.
std::optional<Effect> effect_between_groups(std::span<const double> first, std::span<const double> second);
/// The same of trimmed means (Yuen, Biometrika 61, 1974), whose errors count `between_times` times, for what
/// differs between two times and not within one. nullopt if fewer than two of a group are kept.
std::optional<Effect> effect_between_groups(std::span<const double> first, std::span<const double> second,
                                            const Trim& trim, double between_times);

/// Makes an effect that one process, or one record, knows to ± half at 95 %.
Effect effect_with_half_width(double value, double half);

enum class EffectVerdict {
  faster,     ///< the second takes less time: shown, and not within the margin
  slower,     ///< the second takes more time: shown, and not within the margin
  same,       ///< the interval lies within the margin
  undecided,  ///< none of these is shown
};
std::string_view to_string(EffectVerdict);

/// `margin` is a ratio: 0.01 is ± 1 %. `is_shown` says whether the effect is significant: for several effects
/// at once by a test that holds for all (holm_rejects), else by its own interval.
EffectVerdict verdict_on(const Effect& effect, double margin, bool is_shown);

/// Returns how many processes (in each group, if there are two) would give an interval of ± half_width if the
/// spread stays as observed; at least the size of the larger group. nullopt above a thousand, or from one
/// process.
std::optional<std::int64_t> processes_within(const Effect& effect, double half_width,
                                             double confidence = 0.95);

/// Returns how many processes would probably decide if the effect stays as observed: the interval then
/// excludes zero or lies within the margin.
std::optional<std::int64_t> processes_to_decide(const Effect& effect, double margin);

/// Student's test that a value with this error is not 0. Without an error the answer is certain.
double two_sided_p(double value, double error, double degrees_of_freedom);

/// Returns which hypotheses are rejected, such that the chance of rejecting any true one is at most `alpha`
/// (Holm, 1979).
std::vector<bool> holm_rejects(std::span<const double> p_values, double alpha = 0.05);

}  // namespace jitterscope::statistics
