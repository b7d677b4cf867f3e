// All mechanisms of one GPU, and the time they have reached.
#pragma once

#include "physics/cache.hpp"
#include "physics/contention.hpp"
#include "physics/governor.hpp"
#include "physics/noise.hpp"
#include "physics/power.hpp"
#include "physics/power_cap.hpp"
#include "physics/sensors.hpp"
#include "physics/thermal.hpp"

namespace jitterscope::physics {

struct Machine::State {
  State(const Parameters& all, std::uint64_t seed);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Execution run(const KernelWork& work, Nanoseconds earliest);
  std::vector<Forecast> forecast(const std::vector<KernelWork>& works) const;
  void rest_until(Nanoseconds time);
  void hold_clock(std::optional<Hertz> clock);
  Hertz clock() const;
  /// What is true now.
  Sample sample() const;

  Parameters parameters;
  ClockTable clocks;
  Cache cache;
  OtherProcess other_process;
  std::uint64_t placement_seed;
  Random placement;
  SensorReader sensors;
  Nanoseconds now;
  Cycles cycles;

 private:
  Load load_of(const KernelWork& work, const Traffic& traffic) const;
  double factor_of(const KernelWork& work);
  void advance_running(const OperatingPoint& point, Nanoseconds until, Nanoseconds dwelt);
  void advance_resting(Nanoseconds until);
  Nanoseconds next_change_at_rest(Nanoseconds until) const;
  void control(Nanoseconds idle_for);
  void settle_averages();
  void choose_clock();
  bool changes_at_rest() const;
  Celsius leaking_temperature() const;

  PowerModel power_;
  WanderingClock wandering_;
  IdleRamp idle_ramp_;
  PowerCap power_cap_;
  ThermalSlowdown slowdown_;
  LaunchNoise noise_;
  Watts idle_power_;  ///< of this control period
  Temperature temperature_;
  PowerAverage average_;
  Celsius first_temperature_;

  int held_, requested_ = 1,
             running_ = 1;  ///< clocks: the user's limit, the governor's wish, the last kernel's
  Nanoseconds idle_from_, settled_to_, next_control_;
  Joules energy_, unsettled_;  ///< until settled_to_; of loads since then
  Nanoseconds throttled_power_, throttled_thermal_;
};

}  // namespace jitterscope::physics
