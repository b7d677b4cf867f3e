// A simulated GPU's power and temperature, and the limits on its clock.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "physics/kernel_time.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

class ClockTable {
 public:
  explicit ClockTable(const Parameters& parameters);

  int top() const { return static_cast<int>(power_share_.size()) - 1; }
  int idle() const { return idle_; }
  Hertz frequency(int index) const { return Hertz(index * step_); }
  /// The highest clock not above `frequency`, at least the first step.
  int at_most(Hertz frequency) const;
  /// (V/Vmax)² · f/fmax
  double power_share(int index) const { return power_share_[static_cast<std::size_t>(index)]; }

 private:
  double step_;
  int idle_ = 1;
  std::vector<double> power_share_;
};

/// Lowers the clock after a long idle, and raises it again after a delay.
class IdleRamp {
 public:
  IdleRamp(const Parameters& parameters, const ClockTable& clocks);

  void start_work(Nanoseconds now);
  /// Called at a multiple of the control period. `idle_for` is zero while work runs.
  void control(Nanoseconds now, Nanoseconds idle_for);
  int limit() const { return limit_; }
  bool is_idle() const { return phase_ == Phase::idle; }
  /// True if the next control period changes nothing but falling after the timeout.
  bool rests() const { return phase_ != Phase::rising; }
  Nanoseconds timeout() const { return governor_.idle_timeout; }

 private:
  enum class Phase { idle, rising, high };
  Governor governor_;
  const ClockTable& clocks_;
  bool on_;
  Phase phase_ = Phase::idle;
  int limit_;
  Nanoseconds rise_from_;
};

/// A clock with two neighbouring levels, each kept for a random busy time.
class WanderingClock {
 public:
  WanderingClock(const Parameters& parameters, std::uint64_t seed);

  Nanoseconds busy_time_left() const { return left_; }
  /// Call when work begins after an idle of this length.
  void wake(Nanoseconds idle_for);
  /// Call after work ran for `time`, at most busy_time_left().
  void spend(Nanoseconds time);
  int lowered(int index) const;
  bool is_low() const { return low_; }

 private:
  void draw_level();
  void draw_dwell();

  bool on_;
  ClockStates states_;
  Random random_;
  bool low_ = false;
  Nanoseconds left_;
};

/// How a load runs: its clock index, its time without the fixed part, and its power above idle.
struct OperatingPoint {
  int index = 0;
  Nanoseconds shared;
  Watts power;
};

class PowerModel {
 public:
  PowerModel(const Parameters& parameters, const ClockTable& clocks);

  /// Power without work.
  Watts idle(Celsius temperature) const;
  /// Returns the point at `highest`, or at the highest clock at which the load stays below the peak limit.
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

/// Checks the moving average once per control period. Above the cap for long enough, it lowers the clock by a
/// step each period; it raises it again when the average would stay below the cap some steps higher.
class PowerCap {
 public:
  PowerCap(const Parameters& parameters, const ClockTable& clocks);

  /// `running` is the clock that the last kernels really ran at.
  void control(Nanoseconds now, Watts average, int running);
  /// The highest clock that it allows.
  int limit() const { return limit_; }
  bool acts() const { return limit_ < clocks_.top(); }
  /// True if nothing changes as long as the power falls.
  bool rests(Watts average) const { return !on_ || (!acts() && average <= cap_); }

 private:
  const ClockTable& clocks_;
  bool on_;
  Watts cap_;
  Nanoseconds onset_;
  int hysteresis_;
  int limit_;
  Nanoseconds above_since_{-1};
};

/// Two stages that each approach P · resistance with a time constant of their own.
class Temperature {
 public:
  Temperature(const Thermal& thermal, Watts start);
  void advance(Watts power, Nanoseconds time);
  Celsius value() const { return Celsius(thermal_.ambient.value() + fast_ + slow_); }
  /// The temperature at a constant power, in the end.
  Celsius steady(Watts power) const;

 private:
  Thermal thermal_;
  double fast_, slow_;  ///< °C above ambient
};

/// Lowers the clock a step per control period above the slowdown temperature; raises it a degree below.
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
