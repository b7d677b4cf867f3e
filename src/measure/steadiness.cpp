#include "measure/steadiness.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The two levels must lie within 0.5 % of each other, and be known to within 1 %. Knowing them to 0.5 %, too,
// takes 20 s and more under a power cap: a GEMM on an H200 then scatters by 2.1 % from round to round, and
// its clock states last 50 ms.
constexpr double kMargin = 0.005, kKnownWithin = 0.01;
// The driver updates its throttle counters in steps of tens of ms; over a quarter of a second the rate is
// known to about 5 points.
constexpr double kThrottleRateMargin = 0.05;

std::vector<double> times_of(std::span<const Round> rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) times.push_back(round.time().value());
  return times;
}

std::vector<double> clocks_of(std::span<const Round> rounds) {
  std::vector<double> clocks;
  for (const Round& round : rounds) {
    if (round.clock) clocks.push_back(round.clock->value());
  }
  return clocks;
}

bool levels_agree(const std::vector<double>& third, const std::vector<double>& last) {
  const statistics::Equivalence levels = statistics::compare_levels(third, last, kKnownWithin);
  return levels.equivalent && std::abs(levels.shift) <= kMargin;
}

// Returns the share of host time during which power cap or heat held the clock down; nullopt if unknown.
std::optional<double> throttle_rate(std::span<const Round> rounds) {
  const auto growth = throttle_growth(rounds);
  if (!growth) return std::nullopt;
  return (growth->power + growth->heat) / growth->span;
}

// Returns the change from the first third to the last: levels that come and go between them are no trend.
double change_between_ends(std::span<const double> times) {
  const std::size_t third = times.size() / 3;
  if (third == 0) return 0.0;
  return statistics::median(times.last(third)) / statistics::median(times.first(third)) - 1.0;
}

// Quarters are by host time, so that slow rounds do not make a quarter longer.
std::size_t first_round_after(std::span<const Round> rounds, double share) {
  const Nanoseconds begin = rounds.front().started;
  const Nanoseconds limit = begin + (rounds.back().started - begin) * share;
  const auto found = std::partition_point(rounds.begin(), rounds.end(),
                                          [&](const Round& round) { return round.started < limit; });
  return static_cast<std::size_t>(found - rounds.begin());
}

}  // namespace

std::optional<std::size_t> settled_since(std::span<const Round> rounds,
                                         std::optional<Celsius> slowdown_temperature) {
  if (rounds.size() < 8) return std::nullopt;
  const std::size_t third_begin = first_round_after(rounds, 0.5);
  const std::size_t last_begin = first_round_after(rounds, 0.75);
  const auto third = rounds.subspan(third_begin, last_begin - third_begin);
  const auto last = rounds.subspan(last_begin);
  if (third.empty() || last.empty()) return std::nullopt;
  if (!levels_agree(times_of(third), times_of(last))) return std::nullopt;
  const std::vector<double> third_clocks = clocks_of(third), last_clocks = clocks_of(last);
  const bool clocks_known = third_clocks.size() == third.size() && last_clocks.size() == last.size();
  if (clocks_known && !levels_agree(third_clocks, last_clocks)) return std::nullopt;
  const auto third_rate = throttle_rate(third), last_rate = throttle_rate(last);
  if (third_rate && last_rate && std::abs(*third_rate - *last_rate) > kThrottleRateMargin)
    return std::nullopt;
  if (heat_may_still_move(rounds.subspan(third_begin), slowdown_temperature)) return std::nullopt;
  return third_begin;
}

Steadiness::Verdict why_not_steady(std::span<const Round> rounds,
                                   std::optional<Celsius> slowdown_temperature) {
  const std::vector<double> times = times_of(rounds);
  const statistics::Trend trend = statistics::classify_series(times);
  const double change = change_between_ends(times);
  if (trend == statistics::Trend::warming_up && change < -kMargin) return Steadiness::Verdict::warming_up;
  if (trend == statistics::Trend::slowing_down && change > kMargin) return Steadiness::Verdict::slowing_down;
  const bool is_warming = heat_may_still_move(rounds.subspan(rounds.size() / 2), slowdown_temperature);
  if (is_warming) return Steadiness::Verdict::slowing_down;
  return trend == statistics::Trend::flat ? Steadiness::Verdict::not_shown
                                          : Steadiness::Verdict::never_steady;
}

namespace {

// Time constants of GPUs' slow stage are 20 to 90 s (V100s: 60 s to the plateau; Titan X: tens of seconds).
constexpr Nanoseconds kSlowStage = seconds(40);
// In the first seconds most of the rise is the fast stage's, which soon ends: extrapolated for 40 s, a copy
// at 250 W would overheat.
constexpr Nanoseconds kToSlowdown = seconds(20);
// Leakage of 0.4 % of the idle power per degree lowers a capped GEMM's clock by as much. A record of 10 s
// cannot show it: clock states of 50 ms leave the slope of time on temperature ±0.06 % per degree.
constexpr double kDriftPerDegree = 0.0005;
constexpr double kLargestDrift = 0.003;

}  // namespace

bool heat_may_still_move(std::span<const Round> rounds, std::optional<Celsius> slowdown_temperature) {
  std::vector<double> times, temperatures;
  for (const Round& round : rounds) {
    if (!round.sensors || !round.sensors->temperature) return false;
    times.push_back(to_seconds(round.started));
    temperatures.push_back(round.sensors->temperature->value());
  }
  const auto rise = statistics::fit_line(times, temperatures);
  if (!rise || rise->slope <= 0.0) return false;
  const double soon = temperatures.back() + rise->slope * to_seconds(kToSlowdown);
  if (slowdown_temperature && soon > slowdown_temperature->value()) return true;
  constexpr double kHardlyCapped = 0.01;
  const auto growth = throttle_growth(rounds);
  if (growth && growth->power / growth->span < kHardlyCapped) return false;
  return rise->slope * to_seconds(kSlowStage) * kDriftPerDegree > kLargestDrift;
}

std::optional<ThrottleGrowth> throttle_growth(std::span<const Round> rounds) {
  const auto &first = rounds.front().sensors, &last = rounds.back().sensors;
  const Nanoseconds span = rounds.back().started - rounds.front().started;
  if (!first || !last || !first->throttled_power || !last->throttled_power || span <= Nanoseconds(0))
    return std::nullopt;
  const Nanoseconds none(0);
  return ThrottleGrowth{*last->throttled_power - *first->throttled_power,
                        last->throttled_thermal.value_or(none) - first->throttled_thermal.value_or(none),
                        span};
}

namespace {

// The power before clock and voltage have answered the load is not that of the load.
constexpr std::size_t kFirstPart = 5;

// Energy is counted every 100 ms (H200): over less than a second its growth is off by a step.
std::optional<Watts> mean_power(const std::vector<Round>& rounds) {
  double watts = 0.0;
  int readings = 0;
  for (std::size_t i = rounds.size() / kFirstPart; i < rounds.size(); ++i) {
    if (!rounds[i].sensors || !rounds[i].sensors->power) continue;
    watts += rounds[i].sensors->power->value();
    ++readings;
  }
  return readings > 0 ? std::optional(Watts(watts / readings)) : std::nullopt;
}

std::optional<double> capped_share(const std::vector<Round>& rounds) {
  const std::optional<ThrottleGrowth> growth = throttle_growth(rounds);
  return growth ? std::optional(growth->power / growth->span) : std::nullopt;
}

}  // namespace

LoadProbe load_probe_of(const Measurement& sustained) {
  LoadProbe probe;
  probe.cache = sustained.conditions.cache;
  probe.watched = sustained.duration;
  probe.time = sustained.time.median;
  if (sustained.clock) probe.clock = sustained.clock->median;
  if (sustained.rounds.size() < 2) return probe;
  probe.power = mean_power(sustained.rounds);
  probe.power_capped = capped_share(sustained.rounds);
  return probe;
}

}  // namespace jitterscope
