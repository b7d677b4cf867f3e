// What the GPU draws, and the limit that acts at once.
#pragma once

#include "physics/governor.hpp"
#include "physics/kernel_time.hpp"

namespace jitterscope::physics {

/// How a load runs: at which clock, for how long beside its fixed time, and what it draws beyond idle.
struct OperatingPoint {
  int index = 0;
  Nanoseconds shared;
  Watts power;
};

class PowerModel {
 public:
  PowerModel(const Parameters& parameters, const ClockTable& clocks);

  /// What flows with no work.
  Watts idle(Celsius temperature) const;
  /// At `highest` or, where the peak limit asks for it, the highest clock at which the load stays below it.
  const OperatingPoint& run(const Load& load, int highest, const WanderingClock& wandering, Watts idle_power);

 private:
  OperatingPoint at(const Load& load, int index) const;
  int below_peak(const Load& load, int highest, Watts idle_power) const;

  Power power_;
  const ClockTable& clocks_;
  bool limited_;
  // The same kernel usually runs many times in a row: its point is kept.
  Load load_;
  int highest_ = -1;
  bool low_ = false;
  Watts idle_power_;
  OperatingPoint point_;
};

/// Exponential moving average of the power.
class PowerAverage {
 public:
  PowerAverage(Nanoseconds time_constant, Watts start) : time_constant_(time_constant), value_(start) {}
  void advance(Watts power, Nanoseconds time);
  Watts value() const { return value_; }

 private:
  Nanoseconds time_constant_;
  Watts value_;
};

}  // namespace jitterscope::physics
