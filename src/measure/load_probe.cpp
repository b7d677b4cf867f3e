#include "measure/load_probe.hpp"

#include "measure/throttle_growth.hpp"

namespace jitterscope {
namespace {

// The power that the chip drew before its clock and voltage had answered the load is not that of the load.
constexpr std::size_t kFirstPart = 5;

std::optional<Watts> mean_power(const std::vector<Round>& rounds) {
  const Round& first = rounds[rounds.size() / kFirstPart];
  const Round& last = rounds.back();
  const Nanoseconds time = last.started - first.started;
  if (!first.sensors || !last.sensors || !first.sensors->energy || !last.sensors->energy) return std::nullopt;
  if (time <= Nanoseconds(0)) return std::nullopt;
  return Watts((last.sensors->energy->value() - first.sensors->energy->value()) / to_seconds(time));
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
