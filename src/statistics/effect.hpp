// How far two things that were timed beside each other lie apart, from several processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// Hodges and Lehmann's estimate of the middle of a symmetric distribution: the median of the means of all
/// pairs, a value with itself included. As precise as a mean (95 % for normal values), and an outlier moves
/// it no more than it moves a median. NaN for none.
double hodges_lehmann(std::span<const double> values);

/// A difference of logarithms, log(second) - log(first).
struct Effect {
  double value = 0.0;
  Interval interval;           ///< 95 %; its unit is the process, or the block where there is one process
  std::int64_t processes = 0;  ///< that gave a value; of two groups in the smaller one
  double within = 0.0;         ///< standard error of one process's value, from its blocks
  double between = 0.0;        ///< standard deviation of processes beyond that; 0 for one process
  double p_value = 1.0;        ///< of no effect, two-sided
  std::vector<double> values = {};  ///< of each process that gave one, in their order
  /// Of two groups of processes: how many are in the larger one, the root of the sum of their variances, and
  /// the degrees of freedom that a process more in each gives (Welch).
  struct Groups {
    std::int64_t larger = 0;
    double spread = 0.0, freedom = 1.0;
  };
  std::optional<Groups> groups = {};

  bool excludes_zero() const { return interval.low > 0.0 || interval.high < 0.0; }
};
/// From the paired differences of logarithms of each process's blocks. A process's value is Hodges and
/// Lehmann's estimate over its blocks; the effect is their mean with Student's interval. Nothing where no
/// process has a block, or the only one has fewer than two.
std::optional<Effect> effect_over_processes(std::span<const std::vector<double>> ratios);

/// From the logarithms that two groups of processes found at different times: the difference of their means
/// with Welch's interval. Nothing where a group has fewer than two.
std::optional<Effect> effect_between_groups(std::span<const double> first, std::span<const double> second);

/// An effect that one process, or one record, knows to ± half at 95 %.
Effect effect_with_half_width(double value, double half);

enum class EffectVerdict {
  faster,     ///< the second takes less time: shown, and not within the margin
  slower,     ///< likewise more
  same,       ///< the interval lies within the margin
  undecided,  ///< none of these is shown
};
std::string_view to_string(EffectVerdict);

/// `margin` is a ratio: 0.01 is ± 1 %. `is_shown`: whether the effect is significant; with several effects at
/// once by what holds for all of them (holm_rejects), else by its own interval.
EffectVerdict verdict_on(const Effect& effect, double margin, bool is_shown);

/// How many processes, in each of two groups where there are two, would have an interval of ± half_width,
/// were their spread as it was seen; at least as many as the larger group has. Nothing above a thousand, or
/// from one process.
std::optional<std::int64_t> processes_within(const Effect& effect, double half_width,
                                             double confidence = 0.95);

/// How many would probably decide, were the effect as it was seen, too: with an interval that excludes zero
/// or lies within the margin.
std::optional<std::int64_t> processes_to_decide(const Effect& effect, double margin);

/// Which of several hypotheses are rejected while the chance of rejecting any true one stays at most `alpha`
/// (Holm, 1979).
std::vector<bool> holm_rejects(std::span<const double> p_values, double alpha = 0.05);

}  // namespace jitterscope::statistics
