#include "measure/load_probe.hpp"

#include "measure/throttle_growth.hpp"

namespace jitterscope {
namespace {

// The power that the chip drew before its clock and voltage had answered the load is not that of the load.
constexpr std::size_t kFirstPart = 5;

// Energy is counted each 100 ms (H200): over less than a second its growth is a step too much or too little.
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
