// The clocks that a GPU can have, and the dynamic power at each.
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

// Which clock the GPU asks for: rising with work and falling without it, and wandering by itself.

/// The clock falls when nothing ran for long, and rises again after a delay.
class IdleRamp {
 public:
  IdleRamp(const Parameters& parameters, const ClockTable& clocks);

  void start_work(Nanoseconds now);
  /// At a multiple of the control period; `idle_for` is zero while work runs.
  void control(Nanoseconds now, Nanoseconds idle_for);
  int limit() const { return limit_; }
  bool is_idle() const { return phase_ == Phase::idle; }
  /// Nothing changes at the next control period, but for falling after the timeout.
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

/// Two neighbouring levels, each kept for a random busy time.
class WanderingClock {
 public:
  WanderingClock(const Parameters& parameters, std::uint64_t seed);

  Nanoseconds busy_time_left() const { return left_; }
  /// Work begins after an idle of this length.
  void wake(Nanoseconds idle_for);
  /// Work ran for `time`, at most busy_time_left().
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

// What the GPU draws, and the limit that acts at once.

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

// The slow power limit.

/// Watches the moving average once per control period: above the cap for long enough, it takes the clock down
/// a step each period, and up again as soon as the average would stay below the cap some steps higher.
class PowerCap {
 public:
  PowerCap(const Parameters& parameters, const ClockTable& clocks);

  /// `running` is the clock that the last kernels really ran at.
  void control(Nanoseconds now, Watts average, int running);
  /// The highest clock that it allows.
  int limit() const { return limit_; }
  bool acts() const { return limit_ < clocks_.top(); }
  /// Nothing will change as long as the power falls.
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

// Temperature, and what the GPU does about too much of it.

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
