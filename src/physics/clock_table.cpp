#include "physics/clock_table.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope::physics {
namespace {

double voltage(const Power& power, double clock, double maximum) {
  const double low = power.clock_low.value();
  if (clock <= low || low >= maximum) return clock <= low ? power.voltage_low : power.voltage_high;
  return power.voltage_low + (power.voltage_high - power.voltage_low) * (clock - low) / (maximum - low);
}

}  // namespace

ClockTable::ClockTable(const Parameters& parameters) : step_(parameters.governor.step.value()) {
  const double maximum = parameters.governor.maximum_clock.value();
  const auto top = std::max(1L, std::lround(maximum / step_));
  const double highest = voltage(parameters.power, maximum, maximum);
  for (long i = 0; i <= top; ++i) {
    const double clock = static_cast<double>(i) * step_;
    const double relative = voltage(parameters.power, clock, maximum) / highest;
    power_share_.push_back(relative * relative * clock / maximum);
  }
  idle_ = at_most(parameters.governor.idle_clock);
}

int ClockTable::at_most(Hertz frequency) const {
  // A clock that is a multiple of the step but for rounding counts as that multiple.
  const int index = static_cast<int>(std::floor(frequency.value() / step_ + 1e-9));
  return std::clamp(index, 1, top());
}

}  // namespace jitterscope::physics
