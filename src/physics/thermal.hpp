// Temperature, and what the GPU does about too much of it.
#pragma once

#include "physics/clock_table.hpp"

namespace jitterscope::physics {

/// Two stages that each approach P · resistance with a time constant of their own.
class Temperature {
 public:
  Temperature(const Thermal& thermal, Watts start);
  void advance(Watts power, Nanoseconds time);
  Celsius value() const { return Celsius(thermal_.ambient.value() + fast_ + slow_); }
  /// Where it goes while the power stays.
  Celsius steady(Watts power) const;

 private:
  Thermal thermal_;
  double fast_, slow_;  ///< °C above ambient
};

/// A step down each control period above the slowdown temperature, up again a degree below it.
class ThermalSlowdown {
 public:
  ThermalSlowdown(const Parameters& parameters, const ClockTable& clocks);
  void control(Celsius temperature, int running);
  int limit() const { return limit_; }
  bool acts() const { return limit_ < clocks_.top(); }
  bool rests(Celsius temperature) const { return !on_ || (!acts() && temperature <= highest_); }

 private:
  const ClockTable& clocks_;
  bool on_;
  Celsius highest_;
  int limit_;
};

}  // namespace jitterscope::physics
