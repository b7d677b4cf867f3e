#include "physics/power.hpp"

#include <cmath>

namespace jitterscope::physics {

PowerModel::PowerModel(const Parameters& parameters, const ClockTable& clocks)
    : power_(parameters.power),
      clocks_(clocks),
      limited_(parameters.has(Mechanism::peak_power) && parameters.power.peak_limit > Watts(0)) {}

Watts PowerModel::idle(Celsius temperature) const {
  return power_.idle * (1.0 + power_.leakage * (temperature.value() - 25.0));
}

OperatingPoint PowerModel::at(const Load& load, int index) const {
  OperatingPoint point;
  point.index = index;
  point.shared = shared_time(load, clocks_.frequency(index));
  point.power = power_.dynamic * (load.activity * clocks_.power_share(index));
  const double time = to_seconds(load.fixed + point.shared);
  if (load.traffic.value() > 0 && time > 0) {
    point.power += Watts(power_.energy_per_byte.value() * static_cast<double>(load.traffic.value()) / time);
  }
  return point;
}

int PowerModel::below_peak(const Load& load, int highest, Watts idle_power) const {
  const auto stays_below = [&](int index) { return idle_power + at(load, index).power <= power_.peak_limit; };
  if (!limited_ || stays_below(highest)) return highest;
  int low = 1, above = highest;  // power grows with the clock
  while (above - low > 1) {
    const int middle = (low + above) / 2;
    (stays_below(middle) ? low : above) = middle;
  }
  return low;
}

const OperatingPoint& PowerModel::run(const Load& load, int highest, const WanderingClock& wandering,
                                      Watts idle_power) {
  if (highest != highest_ || wandering.is_low() != low_ || idle_power != idle_power_ || load != load_) {
    load_ = load;
    highest_ = highest;
    low_ = wandering.is_low();
    idle_power_ = idle_power;
    point_ = at(load, wandering.lowered(below_peak(load, highest, idle_power)));
  }
  return point_;
}

void PowerAverage::advance(Watts power, Nanoseconds time) {
  value_ =
      time_constant_ > Nanoseconds(0) ? power + (value_ - power) * std::exp(-(time / time_constant_)) : power;
}

}  // namespace jitterscope::physics
