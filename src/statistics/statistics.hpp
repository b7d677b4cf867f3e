// Pure functions over spans of numbers: no device, no units, no I/O. Spans may be empty and values equal.
// Values must be finite; then no result is NaN, except median and quantiles of no values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace jitterscope::statistics {

struct Interval {
  double low = 0.0, high = 0.0;
};

/// Middle value; mean of the two middle ones for an even count. NaN for no values.
double median(std::span<const double> values);

/// Median of readings by a timer with steps of `grain`. If half of the values lie within two steps of their
/// median, it is their mean: of t = 93.7 us read in steps of 0.5 us, 40 % are 93.5 and 60 % are 94; the
/// median is 94 in each round, and the mean is 93.7.
double median_of_readings(std::span<const double> values, double grain);

/// Quantiles by linear interpolation of order statistics (type 7 of Hyndman & Fan 1996), one for each
/// probability, in any order. NaN for no values. O(n) per call, not O(n log n).
std::vector<double> quantiles(std::span<const double> values, std::span<const double> probabilities);

/// Distribution-free interval of the median: the narrowest symmetric pair of order statistics [x(k),
/// x(n+1-k)] with P(Bin(n, 1/2) < k) <= (1 - confidence)/2. Conservative; nullopt if n is too small (n < 6 at
/// 95 %).
std::optional<Interval> order_statistic_interval(std::span<const double> values, double confidence = 0.95);

/// The same for more than 12 values. For fewer, that pair covers far more than it states (97.9 % at n = 10),
/// so the interval is interpolated to the next pair inside (Hettmansperger and Sheather, 1986). If
/// interpolated for any n, it would cover 92 % after a rule that stops once it is narrow.
std::optional<Interval> median_interval(std::span<const double> values, double confidence = 0.95);

/// The fit t = a + b/f by least squares, evaluated at one clock, with a jackknife interval.
struct InverseClockFit {
  double intercept = 0.0;  ///< a
  double slope = 0.0;      ///< b
  double at_reference = 0.0;
  Interval interval;               ///< 95 %, Student t with n - 1 degrees of freedom
  double clock_share = 0.0;        ///< (b/f)/t at the reference
  double clock_share_error = 0.0;  ///< jackknife standard error of clock_share
};
/// Returns nullopt if the clock varied too little to know the slope: fewer than 10 points, or a standard
/// error of clock_share above 0.25. Throws std::invalid_argument if the lengths differ.
std::optional<InverseClockFit> fit_inverse_clock(std::span<const double> times,
                                                 std::span<const double> clocks, double reference_clock);

/// Least squares line y = intercept + slope·x with 95 % intervals of both (Student t). nullopt for fewer than
/// 3 points or equal x. Throws std::invalid_argument if the lengths differ.
struct LinearFit {
  double intercept = 0.0, slope = 0.0;
  Interval intercept_interval, slope_interval;
  double residual_deviation = 0.0;
};
std::optional<LinearFit> fit_line(std::span<const double> x, std::span<const double> y);

/// Returns locations and weights of a distribution's modes, by ascending location: at least two if it is
/// clearly multimodal, else one; none for no values. Clearly multimodal: a valley below half of its lower
/// peak and deeper than counting noise, each mode at least 5 % of the values, modes at least
/// `minimum_distance` apart, relative to the median. The location is the median of the mode's values; the
/// weights sum to 1.
struct ModeEstimate {
  double location = 0.0, weight = 0.0;
};
std::vector<ModeEstimate> find_modes(std::span<const double> values, double minimum_distance = 0.005);

/// Slow values that return after a fixed number: `slow` of every `period` numbers. `share` is the share of
/// values that fit this pattern.
struct RecurrenceEstimate {
  std::int64_t period = 0, slow = 0;
  double share = 0.0;
};
/// Returns the shortest period, up to 128, by which the values above `boundary` recur. nullopt if none is
/// much more likely than slow values by chance: a log-likelihood higher by `evidence` and by log 2 for each
/// number of the period. `numbers` numbers the values; calls that were not watched leave gaps. Of the
/// evidence, 16 are for some thousand patterns that are tried; for one series whose boundary is known, fewer
/// than 1 in 200 that are slow by chance have a period at 6, and 4 slow values of 20 show one.
std::optional<RecurrenceEstimate> find_recurrence(std::span<const std::int64_t> numbers,
                                                  std::span<const double> values, double boundary,
                                                  double evidence = 16.0);

/// Two-sided critical value:
/// T
/// stays below it with probability `confidence`.
double student_critical(double confidence, double degrees_of_freedom);

/// Sample standard deviation, over n - 1. NaN for fewer than 2 values.
double standard_deviation(std::span<const double> values);

/// Mean with Student's interval, which is infinite for a single value.
struct MeanInterval {
  double mean = 0.0;
  Interval interval;
};
MeanInterval mean_interval(std::span<const double> values, double confidence = 0.95);

/// Tests whether two stretches of a series have the same level within ±margin (relative): both one-sided 95 %
/// limits of the shift of the logarithm are inside the margin (TOST), from medians of at least four
/// consecutive blocks of up to 8 values. Not equivalent, with an infinite interval, below 4 values on either
/// side or if a level is not positive.
struct Equivalence {
  double shift = 0.0;  ///< log(second) - log(first)
  Interval interval;   ///< 90 % interval of the shift
  bool equivalent = false;
};
Equivalence compare_levels(std::span<const double> first, std::span<const double> second, double margin);

/// Returns the indices where a new segment begins: change points of the mean by PELT (Killick et al. 2012),
/// with normal cost, noise variance from the median absolute first difference (times 1 + 20/n, since few
/// values know it badly), and a penalty of 3·log n per change. Above 2,048 values the search is over means of
/// blocks, and each change is then placed within its block.
std::vector<std::size_t> change_points(std::span<const double> values);

/// Shape of a series of times (after Barrett et al. 2017): segments between change points are compared with
/// the last one; lone outliers are ignored. Slower at first: warming_up; faster at first: slowing_down;
/// never_steady if the last level (±margin, relative) holds for less than a fifth of the series, was left
/// before, or was approached from both sides.
enum class Trend { flat, warming_up, slowing_down, never_steady };
Trend classify_series(std::span<const double> values, double margin = 0.005);

/// Sample autocorrelation at `lag`; 0 for fewer than lag + 2 values or no variance.
double autocorrelation(std::span<const double> values, std::size_t lag = 1);

// A mean that a few spoilt values do not move.

struct TrimmedMean {
  double value = 0.0;
  double error = 0.0, freedom = 0.0;  ///< standard error, with Student's degrees of freedom
  Interval interval;                  ///< 95 %
  double p_value = 1.0;               ///< two-sided test of a mean of zero
};
/// Shares of the lowest and the highest values that a mean leaves out.
struct Trim {
  double low = 0.2, high = 0.2;
};
/// Mean without a share of the values at each end, with the interval of Tukey and McLaughlin (Sankhya A 25,
/// 1963): Student's, from the winsorized variance, and slightly wider for few values. Without fifths, 4 of 6
/// values are kept, and all of 4. nullopt if fewer than 2 are kept.
std::optional<TrimmedMean> trimmed_mean(std::span<const double> values, const Trim& trim = {});

// Counts of successes in equal trials: intervals of their probability, and how unlikely a count is.

/// Clopper and Pearson's interval of a probability: exact, so never too narrow; [0, 1] for no trials. Throws
/// std::invalid_argument if there are fewer trials than successes, or a count is negative.
Interval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence = 0.95);

/// P(X <= successes) for X ~ Bin(trials, probability): the one-sided exact test of "at least `probability`"
/// rejects if this is below its level. Throws like clopper_pearson.
double probability_of_at_most(std::int64_t successes, std::int64_t trials, double probability);

}  // namespace jitterscope::statistics
