#include "physics/power_and_clocks.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

Parameters limited() {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.power.voltage_low = 0.7;
  p.power.clock_low = megahertz(600);
  return p;
}

TEST(PeakPower, TakesTheHighestClockBelowTheLimit) {
  Parameters p = limited();
  p.power.peak_limit = Watts(300);
  Machine machine(p, 1);
  const ClockTable clocks(p);
  const Execution execution = machine.run(cycles_work(1e6, 1.0), Nanoseconds(0));
  const double mhz = execution.cycles.value() / execution.time().value() * 1e3;
  const int index = static_cast<int>(std::lround(mhz / 10));
  EXPECT_LT(index, 100);
  EXPECT_LE(50 + 400 * clocks.power_share(index), 300);
  EXPECT_GT(50 + 400 * clocks.power_share(index + 1), 300);
  // At once: the next launch, of less activity, runs at full speed.
  EXPECT_NEAR(machine.run(cycles_work(1e5, 0.5), Nanoseconds(0)).time().value(), 1e5, 1e-3);
  Machine without(p.without(Mechanism::peak_power), 1);
  EXPECT_NEAR(without.run(cycles_work(1e6, 1.0), Nanoseconds(0)).time().value(), 1e6, 1e-3);
}

TEST(PeakPower, CountsTheTrafficOfDram) {
  Parameters p = limited();
  p.power.peak_limit = Watts(300);
  p.power.energy_per_byte = Joules(100e-12);  // 1e12 bytes/s: 100 W
  const ClockTable clocks(p);
  PowerModel power(p, clocks);
  const WanderingClock steady(p, 1);
  Load load;
  load.activity = 0.6;
  load.memory = milliseconds(1);
  EXPECT_EQ(power.run(load, clocks.top(), steady, Watts(50)).index, clocks.top());
  load.traffic = Bytes(1'000'000'000);
  const OperatingPoint& point = power.run(load, clocks.top(), steady, Watts(50));
  EXPECT_LT(point.index, clocks.top());
  EXPECT_NEAR(point.power.value(), 240 * clocks.power_share(point.index) + 100, 1e-6);
}

TEST(PowerAverage, ApproachesExponentially) {
  PowerAverage average(milliseconds(50), Watts(100));
  average.advance(Watts(300), milliseconds(20));
  average.advance(Watts(300), milliseconds(30));
  EXPECT_NEAR(average.value().value(), 300 - 200 * std::exp(-1.0), 1e-9);
}

/// When the clock first falls below the maximum.
Nanoseconds first_fall(const Parameters& p) {
  Machine machine(p, 1);
  while (machine.free_at() < seconds(2)) {
    machine.run(cycles_work(1e5, 1.0), machine.free_at());
    if (machine.clock() < p.governor.maximum_clock) return machine.free_at();
  }
  return seconds(1e9);
}

TEST(PowerCap, ActsWhenTheAverageHasReachedItAndTheOnsetIsOver) {
  Parameters p = limited();
  p.power.cap = Watts(300);
  // From 50 W towards 450 W with 50 ms: 300 W after 50·ln(400/150) = 49.0 ms; control periods are 5 ms.
  const double reached = 50 * std::log(400.0 / 150.0);
  EXPECT_NEAR(first_fall(p).value(), milliseconds(reached + 2.5).value(), 2.8e6);
  p.power.cap_onset = milliseconds(200);
  EXPECT_NEAR(first_fall(p).value(), milliseconds(reached + 202.5).value(), 2.8e6);
  EXPECT_GT(first_fall(p.without(Mechanism::power_cap)), seconds(2));
}

TEST(PowerCap, KeepsThePowerAtTheCap) {
  Parameters p = limited();
  p.power.hysteresis_steps = 0;
  p.power.cap = Watts(300);
  Machine machine(p, 1);
  run_until(machine, cycles_work(1e5, 1.0), seconds(2));
  const Joules before = *machine.read_sensors(machine.free_at()).energy;
  const Nanoseconds from = machine.free_at();
  run_until(machine, cycles_work(1e5, 1.0), seconds(6));
  const Joules after = *machine.read_sensors(machine.free_at()).energy;
  EXPECT_NEAR((after - before).value() / to_seconds(machine.free_at() - from), 300, 6);
}

TEST(PowerCap, HysteresisKeepsTheClockLower) {
  Parameters p = limited();
  p.power.cap = Watts(300);
  const auto mean_clock = [](const Parameters& parameters) {
    Machine machine(parameters, 1);
    run_until(machine, cycles_work(1e5, 1.0), seconds(4));
    return machine.cycles().value() / to_seconds(machine.free_at());
  };
  const double without = mean_clock(p);
  p.power.hysteresis_steps = 6;
  EXPECT_LT(mean_clock(p), without);
}

TEST(PowerCap, LetsTheClockRiseAgainAtRest) {
  Parameters p = limited();
  p.power.cap = Watts(300);
  Machine machine(p, 1);
  run_until(machine, cycles_work(1e5, 1.0), seconds(1));
  EXPECT_LT(machine.clock(), megahertz(900));
  machine.rest_until(seconds(2));
  EXPECT_EQ(machine.clock(), megahertz(1000));
}

}  // namespace
}  // namespace jitterscope::physics
