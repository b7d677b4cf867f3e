#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>

#include "statistics/statistics.hpp"

// Line fits, equal levels, trends and change points of series.

namespace jitterscope::statistics {

/// Least squares around the means: y = mean_y + slope·(x - mean_x). Centred, so that clocks near 2e9 and
/// times near 1e-6 lose no digits to cancellation.
struct CentredLine {
  double mean_x = 0.0, mean_y = 0.0;
  double slope = 0.0;
  double spread_x = 0.0;  ///< sum of (x - mean_x)²; slope is 0 if this is 0

  double residual(double x, double y) const { return y - mean_y - slope * (x - mean_x); }
};

/// Needs at least one point; throws std::invalid_argument if the lengths differ.
inline CentredLine fit_centred(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.empty()) {
    throw std::invalid_argument("a line needs as many x as y, and at least one");
  }
  const auto count = static_cast<double>(x.size());
  CentredLine line;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.mean_x += x[i] / count;
    line.mean_y += y[i] / count;
  }
  double product = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.spread_x += (x[i] - line.mean_x) * (x[i] - line.mean_x);
    product += (x[i] - line.mean_x) * (y[i] - line.mean_y);
  }
  line.slope = line.spread_x > 0.0 ? product / line.spread_x : 0.0;
  return line;
}

std::optional<LinearFit> fit_line(std::span<const double> x, std::span<const double> y) {
  // Two points leave no residual to estimate the error.
  if (x.size() < 3 && x.size() == y.size()) {
    return std::nullopt;
  }
  const CentredLine line = fit_centred(x, y);
  // Below this the x differ only by rounding, and the slope would be noise over noise.
  const auto count = static_cast<double>(x.size());
  if (std::sqrt(line.spread_x / count) <= 1e-12 * std::abs(line.mean_x)) {
    return std::nullopt;
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(line.residual(x[i], y[i]), 2);
  }
  LinearFit fit;
  fit.slope = line.slope;
  fit.intercept = line.mean_y - line.slope * line.mean_x;
  fit.residual_deviation = std::sqrt(squares / (count - 2.0));
  const double critical = student_critical(0.95, count - 2.0) * fit.residual_deviation;
  const double slope_half = critical / std::sqrt(line.spread_x);
  const double intercept_half = critical * std::sqrt(1.0 / count + line.mean_x * line.mean_x / line.spread_x);
  fit.slope_interval = {fit.slope - slope_half, fit.slope + slope_half};
  fit.intercept_interval = {fit.intercept - intercept_half, fit.intercept + intercept_half};
  return fit;
}

namespace {

struct Level {
  double mean = 0.0;
  double error_squared = 0.0;
  double degrees_of_freedom = 0.0;
};

/// Level from the log medians of at least four consecutive blocks. Medians of 8 values remove spikes and
/// shorten the noise's memory; if values are few (launches of 100 ms), blocks are shorter. The last block
/// takes the remainder, so that no value is dropped.
std::optional<Level> level_of(std::span<const double> values) {
  constexpr std::size_t kLeastBlocks = 4, kLongestBlock = 8;
  if (values.size() < kLeastBlocks) {
    return std::nullopt;
  }
  const std::size_t length = std::min(values.size() / kLeastBlocks, kLongestBlock);
  const std::size_t blocks = values.size() / length;
  std::vector<double> logs;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = block * length;
    const double middle = median(values.subspan(begin, block + 1 == blocks ? values.size() - begin : length));
    if (!(middle > 0.0)) {
      return std::nullopt;
    }
    logs.push_back(std::log(middle));
  }
  const auto count = static_cast<double>(blocks);
  Level level{.degrees_of_freedom = count - 1.0};
  for (const double value : logs) {
    level.mean += value / count;
  }
  for (const double value : logs) {
    level.error_squared += (value - level.mean) * (value - level.mean) / (count * (count - 1.0));
  }
  return level;
}

/// Welch's half-width at 90 % (two one-sided 95 % limits), as the two stretches may differ in noise.
double half_width(const Level& first, const Level& second) {
  const double total = first.error_squared + second.error_squared;
  const double denominator = first.error_squared * first.error_squared / first.degrees_of_freedom +
                             second.error_squared * second.error_squared / second.degrees_of_freedom;
  return denominator > 0.0 ? student_critical(0.90, total * total / denominator) * std::sqrt(total) : 0.0;
}

}  // namespace

Equivalence compare_levels(std::span<const double> first, std::span<const double> second, double margin) {
  const std::optional<Level> before = level_of(first);
  const std::optional<Level> after = level_of(second);
  if (!before || !after) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    return {.shift = 0.0, .interval = {-kUnknown, kUnknown}, .equivalent = false};
  }
  const double shift = after->mean - before->mean;
  const double half = half_width(*before, *after);
  const double limit = std::log1p(margin);
  return {.shift = shift,
          .interval = {shift - half, shift + half},
          .equivalent = -limit < shift - half && shift + half < limit};
}

namespace {

/// Standard error from estimates that each leave out one point.
double jackknife_error(std::span<const double> estimates) {
  const auto count = static_cast<double>(estimates.size());
  double mean = 0.0;
  for (const double estimate : estimates) {
    mean += estimate / count;
  }
  double squares = 0.0;
  for (const double estimate : estimates) {
    squares += (estimate - mean) * (estimate - mean);
  }
  return std::sqrt((count - 1.0) / count * squares);
}

/// Level and clock share at the reference (relative period 1), once for each point left out.
struct LeaveOneOut {
  std::vector<double> levels, shares;
};

/// Uses the leverage of each point (Sherman-Morrison), so that n fits cost O(n). Returns nullopt if one point
/// alone determines the slope: without it there is no fit.
std::optional<LeaveOneOut> leave_one_out(const CentredLine& line, std::span<const double> periods,
                                         std::span<const double> times) {
  const auto count = static_cast<double>(periods.size());
  LeaveOneOut result;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const double offset = periods[i] - line.mean_x;
    const double leverage = 1.0 / count + offset * offset / line.spread_x;
    if (leverage > 1.0 - 1e-9) {
      return std::nullopt;
    }
    const double pull = line.residual(periods[i], times[i]) / (1.0 - leverage);
    const double slope = line.slope - offset / line.spread_x * pull;
    const double centre = line.mean_y - pull / count;
    const double level = centre + slope * (1.0 - line.mean_x);
    result.levels.push_back(level);
    result.shares.push_back(slope / level);
  }
  return result;
}

}  // namespace

std::optional<InverseClockFit> fit_inverse_clock(std::span<const double> times,
                                                 std::span<const double> clocks, double reference_clock) {
  constexpr std::size_t kFewestPoints = 10;
  constexpr double kLargestShareError = 0.25;
  // A clock read over a round is accurate to about 1e-5; a variation below 1e-6 is none.
  constexpr double kLeastClockDeviation = 1e-6;

  const bool positive =
      reference_clock > 0.0 && std::all_of(clocks.begin(), clocks.end(), [](double f) { return f > 0.0; });
  if (!positive || (times.size() == clocks.size() && times.size() < kFewestPoints)) {
    return std::nullopt;
  }
  // Relative to the reference, periods are near 1 and the slope is the clock-bound time itself.
  std::vector<double> periods;
  for (const double clock : clocks) {
    periods.push_back(reference_clock / clock);
  }
  const CentredLine line = fit_centred(periods, times);
  const auto count = static_cast<double>(times.size());
  const double level = line.mean_y + line.slope * (1.0 - line.mean_x);
  if (std::sqrt(line.spread_x / count) < kLeastClockDeviation * line.mean_x || !(level > 0.0)) {
    return std::nullopt;
  }
  const std::optional<LeaveOneOut> left_out = leave_one_out(line, periods, times);
  if (!left_out) {
    return std::nullopt;
  }
  const double share_error = jackknife_error(left_out->shares);
  if (!(share_error <= kLargestShareError)) {
    return std::nullopt;
  }
  const double half = student_critical(0.95, count - 1.0) * jackknife_error(left_out->levels);
  return InverseClockFit{.intercept = level - line.slope,
                         .slope = line.slope * reference_clock,
                         .at_reference = level,
                         .interval = {level - half, level + half},
                         .clock_share = line.slope / level,
                         .clock_share_error = share_error};
}

namespace {

/// Longest series that is judged; longer ones become medians of blocks, which also removes spikes.
constexpr std::size_t kLongestSeries = 1000;

std::vector<double> block_medians(std::span<const double> values) {
  const std::size_t block = (values.size() + kLongestSeries - 1) / kLongestSeries;
  std::vector<double> medians;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    medians.push_back(median(values.subspan(begin, block)));
  }
  return medians;
}

/// 90 % of the steps between consecutive values are at most this. It is the smallest spread to judge an
/// outlier by, because a coarse timer leaves whole windows without any.
double step_spread(std::span<const double> values) {
  std::vector<double> steps{0.0};
  for (std::size_t i = 1; i < values.size(); ++i) {
    steps.push_back(std::abs(values[i] - values[i - 1]));
  }
  return quantiles(steps, std::vector<double>{0.9}).front();
}

/// Replaces lone outliers by the median around them: one disturbed round is no change of level. The limits
/// are those of Barrett et al. 2017, median ± 3·(p90 - p10), in a window that a level shift widens.
std::vector<double> without_outliers(std::span<const double> values) {
  constexpr std::size_t kReach = 25;
  const std::vector<double> probabilities = {0.1, 0.5, 0.9};
  const double least_spread = step_spread(values);
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i < kReach ? 0 : i - kReach;
    const std::size_t end = std::min(i + kReach + 1, values.size());
    const std::vector<double> around = quantiles(values.subspan(begin, end - begin), probabilities);
    if (std::abs(values[i] - around[1]) > 3.0 * std::max(around[2] - around[0], least_spread)) {
      result[i] = around[1];
    }
  }
  return result;
}

struct Segment {
  std::size_t begin;
  double level;
};

std::vector<Segment> segments_of(std::span<const double> values) {
  std::vector<std::size_t> bounds = change_points(values);
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(values.size());
  std::vector<Segment> segments;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    segments.push_back({bounds[i], median(values.subspan(bounds[i], bounds[i + 1] - bounds[i]))});
  }
  return segments;
}

}  // namespace

Trend classify_series(std::span<const double> values, double margin) {
  if (values.empty()) {
    return Trend::flat;
  }
  constexpr double kLeastSteadyShare = 0.2;
  const std::vector<double> series = without_outliers(block_medians(values));
  const std::vector<Segment> segments = segments_of(series);
  const double settled = segments.back().level;
  const auto near_settled = [&](const Segment& segment) {
    return std::abs(segment.level - settled) <= margin * std::abs(settled);
  };
  const auto steady = std::find_if_not(segments.rbegin(), segments.rend(), near_settled).base();
  if (steady == segments.begin()) {
    return Trend::flat;
  }
  const auto steady_values = static_cast<double>(series.size() - steady->begin);
  if (steady_values < kLeastSteadyShare * static_cast<double>(series.size())) {
    return Trend::never_steady;
  }
  // A level that was left and came back alternates, and so does one approached from both sides.
  const bool above = std::all_of(segments.begin(), steady, [&](const Segment& segment) {
    return segment.level > settled && !near_settled(segment);
  });
  const bool below = std::all_of(segments.begin(), steady, [&](const Segment& segment) {
    return segment.level < settled && !near_settled(segment);
  });
  return above ? Trend::warming_up : below ? Trend::slowing_down : Trend::never_steady;
}

double autocorrelation(std::span<const double> values, std::size_t lag) {
  if (values.size() < 2 || lag > values.size() - 2) {
    return 0.0;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double variance = 0.0;
  double covariance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    variance += (values[i] - mean) * (values[i] - mean);
    covariance += i < lag ? 0.0 : (values[i] - mean) * (values[i - lag] - mean);
  }
  // Equal values leave only the rounding error of the mean, about n·1e-16 of it, and no variance.
  const double rounding = 1e-15 * count * mean;
  return variance > count * rounding * rounding ? covariance / variance : 0.0;
}

namespace {

/// Variance of the noise, independent of the level: from the median of first differences, which changes do
/// not affect. If the median is 0 (coarse timer, most neighbours equal), the mean square is used.
double noise_variance(std::span<const double> values) {
  std::vector<double> steps;
  double squares = 0.0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    steps.push_back(std::abs(values[i] - values[i - 1]));
    squares += steps.back() * steps.back();
  }
  constexpr double kNormalMedian = 0.674489750196082;  // median of |N(0, 1)|
  const double deviation = median(steps) / kNormalMedian;
  const double step_variance =
      deviation > 0.0 ? deviation * deviation : squares / static_cast<double>(steps.size());
  // Few steps know the noise badly, and a low estimate turns noise into changes: without this factor, 18 % of
  // flat series of 10 values had changes; with it 3 %, and as few at any length.
  const double caution = 1.0 + 20.0 / static_cast<double>(values.size());
  return step_variance / 2.0 * caution;
}

double penalty_of(std::size_t count, double variance) {
  return 3.0 * std::log(static_cast<double>(count)) * variance;
}

/// Sum of squares around the mean of any stretch in O(1), from running sums of the values minus their mean.
class SquaresOfStretches {
 public:
  explicit SquaresOfStretches(std::span<const double> values) : sums_{0.0}, squares_{0.0} {
    double mean = 0.0;
    for (const double value : values) {
      mean += value / static_cast<double>(values.size());
    }
    for (const double value : values) {
      sums_.push_back(sums_.back() + value - mean);
      squares_.push_back(squares_.back() + (value - mean) * (value - mean));
    }
  }
  double operator()(std::size_t begin, std::size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }

 private:
  std::vector<double> sums_, squares_;
};

/// PELT: selects from ascending places (the last is the end) the changes with the least total cost, exactly.
/// A start that costs more than the best, even without a penalty for its next change, can never win and is
/// dropped.
std::vector<std::size_t> least_cost_partition(const SquaresOfStretches& cost,
                                              std::span<const std::size_t> places, double penalty) {
  struct Start {
    std::size_t place, number;
    double best, total;
  };
  std::vector<std::size_t> previous;  // for each place: the number of the place before it, counted from 1
  std::vector<Start> starts{{.place = 0, .number = 0, .best = -penalty, .total = 0.0}};
  for (std::size_t number = 1; number <= places.size(); ++number) {
    const std::size_t end = places[number - 1];
    for (Start& start : starts) {
      start.total = start.best + cost(start.place, end);
    }
    const auto less = [](const Start& a, const Start& b) { return a.total < b.total; };
    const Start least = *std::min_element(starts.begin(), starts.end(), less);
    previous.push_back(least.number);
    const double best = least.total + penalty;
    std::erase_if(starts, [&](const Start& start) { return start.total > best; });
    starts.push_back({.place = end, .number = number, .best = best, .total = 0.0});
  }
  std::vector<std::size_t> changes;
  for (std::size_t number = previous.back(); number > 0; number = previous[number - 1]) {
    changes.push_back(places[number - 1]);
  }
  std::reverse(changes.begin(), changes.end());
  return changes;
}

/// Searches all places; returns none if the values are equal, so that there is no noise to compare with.
std::vector<std::size_t> partition(std::span<const double> values, double variance) {
  if (!(variance > 0.0)) {
    return {};
  }
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), 1);
  return least_cost_partition(SquaresOfStretches(values), places, penalty_of(values.size(), variance));
}

/// Means of consecutive blocks; a last, shorter block is left out.
std::vector<double> block_means(std::span<const double> values, std::size_t block) {
  std::vector<double> means;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    double sum = 0.0;
    for (const double value : values.subspan(begin, block)) {
      sum += value;
    }
    means.push_back(sum / static_cast<double>(block));
  }
  return means;
}

/// Returns every place within a block of a change between blocks, and the end.
std::vector<std::size_t> places_near(std::span<const std::size_t> block_changes, std::size_t block,
                                     std::size_t end) {
  std::vector<std::size_t> places;
  for (const std::size_t change : block_changes) {
    const std::size_t first = std::max((change - 1) * block + 1, places.empty() ? 0 : places.back() + 1);
    for (std::size_t place = first; place < std::min((change + 1) * block, end); ++place) {
      places.push_back(place);
    }
  }
  places.push_back(end);
  return places;
}

}  // namespace

std::vector<std::size_t> change_points(std::span<const double> values) {
  if (values.size() < 3) {
    return {};
  }
  // A series without changes prunes nothing, so the search is O(n²): 10 ms at this size, minutes at 10^6.
  constexpr std::size_t kLongest = 2048;
  const std::size_t block = (values.size() + kLongest - 1) / kLongest;
  const double variance = noise_variance(values);
  if (block == 1) {
    return partition(values, variance);
  }
  const std::vector<double> means = block_means(values, block);
  const double block_variance = noise_variance(means);
  const std::vector<std::size_t> places = places_near(partition(means, block_variance), block, values.size());
  // Correlated noise is larger between blocks than its first differences suggest.
  const double larger = std::max(variance, block_variance * static_cast<double>(block));
  return least_cost_partition(SquaresOfStretches(values), places, penalty_of(values.size(), larger));
}

}  // namespace jitterscope::statistics
