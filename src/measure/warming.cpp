#include "measure/warming.hpp"

#include <algorithm>
#include <vector>

#include "measure/throttle_growth.hpp"
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

}  // namespace jitterscope
