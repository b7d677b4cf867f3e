#include "timeline/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/effect.hpp"

namespace jitterscope::timeline {

double ErrorOfBlocks::half_width() const { return statistics::student_critical(0.95, freedom) * error; }
double ErrorOfBlocks::p_value(double value) const { return statistics::two_sided_p(value, error, freedom); }

ErrorOfBlocks error_of_blocks(std::span<const double> blocks) {
  const auto count = static_cast<double>(blocks.size());
  if (blocks.size() < 2) return {.error = std::numeric_limits<double>::infinity()};
  const double mean = std::accumulate(blocks.begin(), blocks.end(), 0.0) / count;
  double squares = 0.0, neighbours = 0.0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    squares += (blocks[i] - mean) * (blocks[i] - mean);
    if (i > 0) neighbours += (blocks[i] - mean) * (blocks[i - 1] - mean);
  }
  if (!(squares > 0.0)) return {.error = 0.0, .freedom = count - 1.0};
  // Found correlations are too small by (1 + 3 r) / n (Kendall 1954).
  const double found = neighbours / squares;
  const double alike = std::clamp(found + (1.0 + 3.0 * found) / count, 0.0, 0.9);
  return {.error = std::sqrt(squares / (count - 1.0) / count * (1.0 + alike) / (1.0 - alike)),
          .freedom = count - 1.0};
}

MedianOfSeries median_of_series(const std::vector<double>& values) {
  MedianOfSeries result;
  result.median = statistics::median(values);
  if (values.size() < 2 * kBlocks) {
    const auto interval = statistics::order_statistic_interval(values);
    result.interval = interval.value_or(statistics::Interval{
        *std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end())});
    return result;
  }
  // Times are logarithms here: an interval of very unlike blocks would else begin below zero.
  const bool are_times = *std::min_element(values.begin(), values.end()) > 0.0;
  std::vector<double> medians;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::size_t first = begin_of_block(block, kBlocks, values.size());
    const std::size_t last = begin_of_block(block + 1, kBlocks, values.size());
    const double median = statistics::median(std::span(values).subspan(first, last - first));
    medians.push_back(are_times ? std::log(median) : median);
  }
  const double half = error_of_blocks(medians).half_width();
  result.interval =
      are_times ? statistics::Interval{result.median * std::exp(-half), result.median * std::exp(half)}
                : statistics::Interval{result.median - half, result.median + half};
  return result;
}

double robust_deviation(std::span<const double> values, double middle) {
  constexpr double kNormal = 1.4826;
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kNormal * statistics::median(distances);
}

LevelledSeries levels_of_series(const std::vector<double>& values) {
  LevelledSeries levels{.middle = statistics::median(values), .within = {}, .bounds = {}};
  const double reach =
      std::max(kFewestDeviations * robust_deviation(values, levels.middle), kLeastChange * levels.middle);
  levels.within.reserve(values.size());
  for (const double value : values)
    levels.within.push_back(std::clamp(value, levels.middle - reach, levels.middle + reach));
  levels.bounds = statistics::change_points(levels.within);
  levels.bounds.insert(levels.bounds.begin(), 0);
  levels.bounds.push_back(values.size());
  return levels;
}

std::optional<LevelShift> level_shift_of(const std::vector<double>& values) {
  // A stretch of one level lies nearer to it than a third of the way to the other.
  constexpr double kOfLevel = 1.0 / 3.0;
  if (values.size() < 4 * kFewestOfLevel) return std::nullopt;
  const LevelledSeries levels = levels_of_series(values);
  const std::vector<std::size_t>& bounds = levels.bounds;
  const std::span<const double> all(values);
  std::optional<std::size_t> found;
  double most = 0.0;
  for (std::size_t k = 1; k + 1 < bounds.size(); ++k) {
    const std::size_t at = bounds[k];
    if (at < kFewestOfLevel || values.size() - at < kFewestOfLevel) continue;
    const auto earlier = all.first(at), later = all.subspan(at);
    const double before = statistics::median(earlier), after = statistics::median(later);
    const double shift = std::abs(after - before);
    const double deviation = std::max(robust_deviation(earlier, before), robust_deviation(later, after));
    if (!(before > 0.0) || shift < kLeastChange * before || shift < kFewestDeviations * deviation) continue;
    bool are_two_levels = true;
    for (std::size_t i = 0; i + 1 < bounds.size() && are_two_levels; ++i) {
      const auto stretch = all.subspan(bounds[i], bounds[i + 1] - bounds[i]);
      if (stretch.size() < kFewestOfLevel) continue;
      const double level = bounds[i] < at ? before : after;
      are_two_levels = std::abs(statistics::median(stretch) - level) < kOfLevel * shift;
    }
    // The variance that two levels explain; their medians are the same for some way beyond the change.
    const auto mean = [](std::span<const double> part) {
      return std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
    };
    const double apart =
        mean(std::span(levels.within).subspan(at)) - mean(std::span(levels.within).first(at));
    const double weight = apart * apart * static_cast<double>(earlier.size() * later.size());
    if (!are_two_levels || weight <= most) continue;
    most = weight;
    found = at;
  }
  if (!found) return std::nullopt;
  const auto middle_place = values.begin() + static_cast<std::ptrdiff_t>(*found);
  return LevelShift{*found, median_of_series({values.begin(), middle_place}),
                    median_of_series({middle_place, values.end()})};
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa > 0.0 && bb > 0.0 ? ab / std::sqrt(aa * bb) : 0.0;
}

// By Fisher's transformation, whose scatter does not depend on the correlation, and the jackknife over
// blocks.
ShareOfSeries share_of_series(const std::vector<double>& cause, const std::vector<double>& values) {
  static constexpr double kLargest = 1.0 - 1e-12;
  const auto transformed = [](std::span<const double> a, std::span<const double> b) {
    return std::atanh(std::clamp(correlation(a, b), -kLargest, kLargest));
  };
  const double all = transformed(cause, values);
  const std::size_t blocks = std::min(kBlocks, cause.size() / 2);
  std::vector<double> parts, x, y;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto without = [&](const std::vector<double>& series, std::vector<double>& rest) {
      rest = series;
      rest.erase(
          rest.begin() + static_cast<std::ptrdiff_t>(begin_of_block(block, blocks, series.size())),
          rest.begin() + static_cast<std::ptrdiff_t>(begin_of_block(block + 1, blocks, series.size())));
    };
    without(cause, x);
    without(values, y);
    const auto count = static_cast<double>(blocks);
    parts.push_back(count * all - (count - 1.0) * transformed(x, y));
  }
  const double half = error_of_blocks(parts).half_width();
  const auto share = [](double z) {
    const double r = std::max(0.0, std::tanh(z));
    return r * r;
  };
  return {share(all), {share(all - half), share(all + half)}};
}

namespace {

// Spearman's correlation is Pearson's of ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) result[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return result;
}

}  // namespace

ShiftedCorrelation correlation_by_shifts(const std::vector<double>& a, const std::vector<double>& b,
                                         std::size_t delay) {
  if (a.size() < 20 + 2 * delay) return {};
  const std::vector<double> x = ranks(a), y = ranks(b);
  // Shifted ranks keep their means and squares: all that is left of a correlation is one sum.
  const double middle = 0.5 * static_cast<double>(a.size() - 1);
  const auto product = [&](std::size_t shift) {
    double sum = 0.0;
    const std::size_t rest = y.size() - shift;
    for (std::size_t i = 0; i < rest; ++i) sum += (x[i] - middle) * (y[i + shift] - middle);
    for (std::size_t i = rest; i < x.size(); ++i) sum += (x[i] - middle) * (y[i - rest] - middle);
    return sum;
  };
  constexpr std::size_t kShifts = 500;  // the smallest chance that is asked for is 0.005
  const std::size_t stride = delay > 0 ? 1 : std::max<std::size_t>(1, a.size() / kShifts);
  std::vector<double> products;
  for (std::size_t shift = 0; shift < a.size(); shift += stride) products.push_back(product(shift));
  const auto best_from = [&](std::size_t first) {
    double best = 0.0;
    for (std::size_t i = first; i <= first + delay; ++i) {
      if (std::abs(products[i]) > std::abs(best)) best = products[i];
    }
    return best;
  };
  const double found = best_from(0);
  if (found == 0.0) return {};
  // Shifts about the true one are no chance.
  std::size_t as_large = 1, count = 1;
  for (std::size_t first = delay + 1; first + 2 * delay < products.size(); ++first, ++count) {
    if (std::abs(best_from(first)) >= std::abs(found)) ++as_large;
  }
  const double squares =
      static_cast<double>(a.size()) * (static_cast<double>(a.size() * a.size()) - 1.0) / 12.0;
  return {static_cast<double>(as_large) / static_cast<double>(count), found / squares};
}

}  // namespace jitterscope::timeline
