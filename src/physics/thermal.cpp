#include "physics/thermal.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope::physics {
namespace {

// Else a GPU at the limit would change its clock each period for ever.
constexpr Celsius kSlowdownHysteresis(1.0);

double approached(double value, double target, Nanoseconds time, Nanoseconds constant) {
  return constant > Nanoseconds(0) ? target + (value - target) * std::exp(-(time / constant)) : target;
}

}  // namespace

Temperature::Temperature(const Thermal& thermal, Watts start)
    : thermal_(thermal),
      fast_(start.value() * thermal.resistance_fast),
      slow_(start.value() * thermal.resistance_slow) {}

void Temperature::advance(Watts power, Nanoseconds time) {
  fast_ = approached(fast_, power.value() * thermal_.resistance_fast, time, thermal_.time_fast);
  slow_ = approached(slow_, power.value() * thermal_.resistance_slow, time, thermal_.time_slow);
}

Celsius Temperature::steady(Watts power) const {
  return thermal_.ambient + Celsius(power.value() * (thermal_.resistance_fast + thermal_.resistance_slow));
}

ThermalSlowdown::ThermalSlowdown(const Parameters& parameters, const ClockTable& clocks)
    : clocks_(clocks),
      on_(parameters.has(Mechanism::thermal) && parameters.thermal.slowdown_temperature > Celsius(0)),
      highest_(parameters.thermal.slowdown_temperature),
      limit_(clocks.top()) {}

void ThermalSlowdown::control(Celsius temperature, int running) {
  if (!on_) return;
  if (temperature > highest_) {
    limit_ = std::max(1, std::min(limit_, running) - 1);
  } else if (temperature < highest_ - kSlowdownHysteresis && acts()) {
    ++limit_;
  }
}

}  // namespace jitterscope::physics
