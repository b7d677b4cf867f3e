#include "explain/held_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/quantity_text.hpp"

namespace jitterscope::explain {
namespace {

// In one stretch, without rests: the counters follow by some ten milliseconds.
constexpr int kLoops = 3;
// The driver's counters move in steps of some milliseconds.
constexpr double kHeld = 0.02;

bool holds(double share) { return share > kHeld; }

}  // namespace

std::optional<HeldClock> find_held_clock(TreatedLoop& bench, const Treatment& treatment, double clock_ratio) {
  const bool is_plain = clock_ratio > 1.0;
  const Treatment slower = is_plain ? Treatment() : treatment;
  Device& device = bench.session().device();
  bench.run(slower);  // what the loops before have left ends with it
  const SensorReading before = device.read_sensors();
  const Nanoseconds began = device.host_time();
  for (int i = 0; i < kLoops; ++i) bench.run(slower);
  const SensorReading after = device.read_sensors();
  const Nanoseconds span = device.host_time() - began;
  if (!before.throttled_power || !after.throttled_power || span <= Nanoseconds(0)) return std::nullopt;
  const auto share = [&](const std::optional<Nanoseconds>& first, const std::optional<Nanoseconds>& last) {
    return first && last ? std::clamp((*last - *first) / span, 0.0, 1.0) : 0.0;
  };
  return HeldClock{is_plain, share(before.throttled_power, after.throttled_power),
                   share(before.throttled_thermal, after.throttled_thermal)};
}

std::string held_words(const HeldClock& held) {
  const std::string_view when = held.is_plain ? "in the plain loop " : "",
                         time = held.is_plain ? "the time" : "that time";
  if (holds(held.by_power) && holds(held.by_heat)) {
    return fmt::format("{}the power cap held the clock for {} of {}, and heat for {}", when,
                       percent_text(held.by_power), time, percent_text(held.by_heat));
  }
  if (holds(held.by_power)) {
    return fmt::format("{}the power cap held the clock for {} of {}, and heat did not", when,
                       percent_text(held.by_power), time);
  }
  if (holds(held.by_heat)) {
    return fmt::format("{}heat held the clock for {} of {}, and the power cap did not", when,
                       percent_text(held.by_heat), time);
  }
  return {};
}

bool tells_power_from_heat(const HeldClock& held) { return holds(held.by_power) != holds(held.by_heat); }

}  // namespace jitterscope::explain
