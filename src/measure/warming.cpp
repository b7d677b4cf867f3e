#include "measure/warming.hpp"

#include <algorithm>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Time constants of GPUs' slow stage are 20 to 90 s (V100s: 60 s to the plateau; Titan X: tens of seconds).
constexpr Nanoseconds kSlowStage = seconds(40);
// In the first seconds most of the rise is the fast stage's, which soon ends: carried on for 40 s it would
// have a copy at 250 W overheat.
constexpr Nanoseconds kToSlowdown = seconds(20);
// Leakage of 0.4 % of the idle power for each degree leaves a capped GEMM that much less clock. A record of
// 10 s cannot tell it: clock states of 50 ms leave the slope of time on temperature ±0.06 % per degree.
constexpr double kDriftPerDegree = 0.0005;
constexpr double kLargestDrift = 0.003;

// Of the time that the rounds took; nothing where no sensor tells.
std::optional<double> share_capped(std::span<const Round> rounds) {
  const auto &first = rounds.front().sensors, &last = rounds.back().sensors;
  const Nanoseconds span = rounds.back().started - rounds.front().started;
  if (!first->throttled_power || !last->throttled_power || span <= Nanoseconds(0)) return std::nullopt;
  return (*last->throttled_power - *first->throttled_power) / span;
}

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
  if (share_capped(rounds).value_or(1.0) < kHardlyCapped) return false;
  return rise->slope * to_seconds(kSlowStage) * kDriftPerDegree > kLargestDrift;
}

}  // namespace jitterscope
