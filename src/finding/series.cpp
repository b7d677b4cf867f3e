#include "finding/series.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::span<const Round> settled_rounds(const Measurement& measurement) {
  const std::span<const Round> rounds = measurement.rounds;
  if (!measurement.steadiness) return rounds;
  return rounds.subspan(std::min(measurement.steadiness->settled_round, rounds.size()));
}

std::vector<double> round_times(std::span<const Round> rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) {
    if (!round.launches.empty()) times.push_back(round.time().value());
  }
  return times;
}

std::optional<std::vector<double>> round_clocks(std::span<const Round> rounds) {
  std::vector<double> clocks;
  for (const Round& round : rounds) {
    if (!round.clock) return std::nullopt;
    clocks.push_back(round.clock->value());
  }
  return clocks;
}

double relative_spread(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  const std::vector<double> q = statistics::quantiles(values, std::array{0.1, 0.5, 0.9});
  // A normal distribution has 2.563 standard deviations between its 10th and its 90th percentile.
  return (q[2] - q[0]) / 2.563 / q[1];
}

std::optional<double> change_along(std::span<const double> x, std::span<const double> values) {
  constexpr std::size_t kFewest = 6;
  const bool positive = std::ranges::all_of(values, [](double value) { return value > 0; });
  if (x.size() != values.size() || x.size() < kFewest || !positive) return std::nullopt;
  std::vector<double> y;
  for (const double value : values) y.push_back(std::log(value));
  const double mean_x = mean(x), mean_y = mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx <= 0 || yy <= 0) return std::nullopt;
  const double freedom = static_cast<double>(x.size() - 2);
  const double unexplained = std::max(0.0, 1.0 - xy * xy / (xx * yy));
  // Two-sided 99.8 %: an operation has up to four series, and one false alarm in a hundred is allowed to all.
  const double critical = boost::math::quantile(boost::math::students_t(freedom), 0.999);
  const bool significant = xy * xy / (xx * yy) * freedom > critical * critical * unexplained;
  if (!significant) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(x);
  return std::expm1(xy / xx * (highest - lowest));
}

double change_over_record(std::span<const double> values) {
  const std::size_t third = values.size() / 3;
  if (third == 0) return 0.0;
  return statistics::median(values.last(third)) / statistics::median(values.first(third)) - 1.0;
}

std::optional<double> drift_of(const Measurement& measurement) {
  const std::vector<double> times = round_times(settled_rounds(measurement));
  std::vector<double> order(times.size());
  std::iota(order.begin(), order.end(), 0.0);
  if (!change_along(order, times)) return std::nullopt;
  const double change = change_over_record(times);
  const bool material =
      std::abs(change) > kMaterialChange && std::abs(change) > measurement.repeatability.precision();
  return material ? std::optional(change) : std::nullopt;
}

}  // namespace jitterscope
