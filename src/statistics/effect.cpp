#include "statistics/effect.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace jitterscope::statistics {
namespace {

double standard_error(std::span<const double> values) {
  return values.size() < 2 ? 0.0 : standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
}

}  // namespace

double two_sided_p(double value, double error, double degrees_of_freedom) {
  if (!(error > 0.0)) return value == 0.0 ? 1.0 : 0.0;
  const boost::math::students_t distribution(degrees_of_freedom);
  return 2.0 * boost::math::cdf(boost::math::complement(distribution, std::abs(value) / error));
}

double hodges_lehmann(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = i; k < values.size(); ++k) means.push_back((values[i] + values[k]) / 2.0);
  }
  return median(means);
}

std::optional<Effect> effect_over_processes(std::span<const std::vector<double>> ratios) {
  std::vector<double> values, errors_squared;
  std::span<const double> only;
  for (const std::vector<double>& blocks : ratios) {
    if (blocks.empty()) continue;
    only = blocks;
    values.push_back(hodges_lehmann(blocks));
    const double error = standard_error(blocks);
    errors_squared.push_back(error * error);
  }
  if (values.empty() || (values.size() == 1 && only.size() < 2)) return std::nullopt;
  Effect effect;
  effect.processes = static_cast<std::int64_t>(values.size());
  effect.within = std::sqrt(std::accumulate(errors_squared.begin(), errors_squared.end(), 0.0) /
                            static_cast<double>(values.size()));
  const bool is_one_process = values.size() == 1;
  const std::span<const double> sample = is_one_process ? only : std::span<const double>(values);
  const MeanInterval mean = mean_interval(sample);
  effect.value = is_one_process ? values.front() : mean.mean;
  const double half = (mean.interval.high - mean.interval.low) / 2.0;
  effect.interval = {effect.value - half, effect.value + half};
  effect.p_value =
      two_sided_p(effect.value, standard_error(sample), static_cast<double>(sample.size()) - 1.0);
  if (!is_one_process) {
    const double spread = standard_deviation(values);
    effect.between = std::sqrt(std::max(0.0, spread * spread - effect.within * effect.within));
  }
  effect.values = std::move(values);
  return effect;
}

namespace {

// A group's mean of logarithms, its standard error, and Student's degrees of freedom of that.
struct GroupMean {
  double value = 0.0, error = 0.0, freedom = 0.0;
  std::size_t size = 0;
};

// Welch's interval of the difference.
Effect effect_between(const GroupMean& first, const GroupMean& second) {
  const double a = first.error * first.error, b = second.error * second.error, error = std::sqrt(a + b);
  const double freedom = (a + b) * (a + b) / (a * a / first.freedom + b * b / second.freedom);
  Effect effect;
  effect.value = second.value - first.value;
  const double half = error > 0.0 ? student_critical(0.95, freedom) * error : 0.0;
  effect.interval = {effect.value - half, effect.value + half};
  effect.processes = static_cast<std::int64_t>(std::min(first.size, second.size));
  effect.p_value = two_sided_p(effect.value, error, freedom);
  const double u = a * static_cast<double>(first.size), v = b * static_cast<double>(second.size);
  effect.groups = {.larger = static_cast<std::int64_t>(std::max(first.size, second.size)),
                   .spread = std::sqrt(u + v),
                   .freedom = u + v > 0.0 ? (u + v) * (u + v) / (u * u + v * v) : 1.0};
  return effect;
}

}  // namespace

std::optional<Effect> effect_between_groups(std::span<const double> first, std::span<const double> second) {
  if (first.size() < 2 || second.size() < 2) return std::nullopt;
  const auto mean = [](std::span<const double> values) {
    const auto size = static_cast<double>(values.size());
    return GroupMean{std::accumulate(values.begin(), values.end(), 0.0) / size, standard_error(values),
                     size - 1.0, values.size()};
  };
  return effect_between(mean(first), mean(second));
}

std::optional<Effect> effect_between_groups(std::span<const double> first, std::span<const double> second,
                                            const Trim& trim, double between_times) {
  const auto one = trimmed_mean(first, trim), other = trimmed_mean(second, trim);
  if (!one || !other) return std::nullopt;
  return effect_between({one->value, one->error * between_times, one->freedom, first.size()},
                        {other->value, other->error * between_times, other->freedom, second.size()});
}

Effect effect_with_half_width(double value, double half) {
  constexpr double kNormal95 = 1.959964;
  Effect effect;
  effect.value = value;
  effect.interval = {value - half, value + half};
  effect.processes = 1;
  effect.p_value = half > 0.0 ? std::erfc(std::abs(value) / (half / kNormal95) / std::sqrt(2.0))
                              : (value == 0.0 ? 1.0 : 0.0);
  return effect;
}

std::string_view to_string(EffectVerdict verdict) {
  switch (verdict) {
    case EffectVerdict::faster: return "faster";
    case EffectVerdict::slower: return "slower";
    case EffectVerdict::same: return "same";
    case EffectVerdict::undecided: return "undecided";
  }
  return "undecided";
}

EffectVerdict verdict_on(const Effect& effect, double margin, bool is_shown) {
  const double limit = std::log1p(margin);
  if (-limit <= effect.interval.low && effect.interval.high <= limit) return EffectVerdict::same;
  if (!is_shown) return EffectVerdict::undecided;
  return effect.value < 0.0 ? EffectVerdict::faster : EffectVerdict::slower;
}

std::optional<std::int64_t> processes_within(const Effect& effect, double half_width, double confidence) {
  constexpr std::int64_t kMost = 1000;
  if (effect.processes < 2) return std::nullopt;
  const auto seen = static_cast<double>(effect.processes);
  const double half = (effect.interval.high - effect.interval.low) / 2.0;
  const Effect::Groups known = effect.groups.value_or(
      Effect::Groups{effect.processes, half * std::sqrt(seen) / student_critical(0.95, seen - 1.0), 1.0});
  const std::int64_t fewest = known.larger > effect.processes ? known.larger : effect.processes + 1;
  for (std::int64_t count = fewest; count <= kMost; ++count) {
    const auto n = static_cast<double>(count);
    if (student_critical(confidence, known.freedom * (n - 1.0)) * known.spread / std::sqrt(n) < half_width)
      return count;
  }
  return std::nullopt;
}

std::optional<std::int64_t> processes_to_decide(const Effect& effect, double margin) {
  return processes_within(effect,
                          std::max(std::abs(effect.value), std::log1p(margin) - std::abs(effect.value)));
}

std::vector<bool> holm_rejects(std::span<const double> p_values, double alpha) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (p_values[order[i]] > alpha / static_cast<double>(order.size() - i)) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

}  // namespace jitterscope::statistics
