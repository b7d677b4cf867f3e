#include <algorithm>
#include <cmath>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

/// At most this many points are judged; more become medians of blocks, which also takes the spikes out.
constexpr std::size_t kLongestSeries = 1000;

std::vector<double> block_medians(std::span<const double> values) {
  const std::size_t block = (values.size() + kLongestSeries - 1) / kLongestSeries;
  std::vector<double> medians;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    medians.push_back(median(values.subspan(begin, block)));
  }
  return medians;
}

/// Nine in ten steps from one value to the next are at most this; the least spread to judge an outlier by,
/// because a coarse timer leaves whole windows without any.
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

}  // namespace jitterscope::statistics
