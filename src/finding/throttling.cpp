#include "finding/throttling.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace jitterscope {
namespace {

std::optional<Nanoseconds> counter(const SensorReading& reading, ThrottleCause cause) {
  if (cause == ThrottleCause::power) return reading.throttled_power;
  if (!reading.throttled_thermal && !reading.throttled_brake) return std::nullopt;
  return reading.throttled_thermal.value_or(Nanoseconds()) + reading.throttled_brake.value_or(Nanoseconds());
}

// A driver tells software from hardware slowdown; both are heat (or its brake) to whoever waits.
bool is_named(const SensorReading& reading, ThrottleCause cause) {
  constexpr std::array<std::string_view, 5> kHeat = {"thermal", "hardware", "software_thermal",
                                                     "hardware_thermal", "hardware_brake"};
  return std::ranges::any_of(reading.clock_reasons, [&](const std::string& reason) {
    if (cause == ThrottleCause::power) return reason == "power_cap";
    return std::ranges::find(kHeat, reason) != kHeat.end();
  });
}

}  // namespace

Throttling throttling(std::span<const Round> rounds, ThrottleCause cause) {
  Throttling result;
  struct Reading {
    Nanoseconds at, held;
  };
  std::optional<Reading> first, last;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Round& round = rounds[i];
    if (!round.sensors) continue;
    result.readable |= !round.sensors->clock_reasons.empty();
    bool active = is_named(*round.sensors, cause);
    if (const std::optional<Nanoseconds> held = counter(*round.sensors, cause)) {
      active |= last && *held > last->held;
      last = Reading{round.started, *held};
      if (!first) first = last;
    }
    if (active) result.affected.push_back(i);
  }
  result.readable |= first.has_value();
  if (first && last->at > first->at) {
    result.held = last->held - first->held;
    result.share = result.held / (last->at - first->at);
  }
  if (!rounds.empty()) {
    result.rounds = static_cast<double>(result.affected.size()) / static_cast<double>(rounds.size());
  }
  return result;
}

}  // namespace jitterscope
