// The governor: idle and rising clocks, wandering ones, and kernels that follow them.
#include <gtest/gtest.h>

#include "physics/power_and_clocks.hpp"
#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

TEST(ClockTable, PowerFollowsVoltageAndClock) {
  Parameters p = bare();
  p.power.voltage_low = 0.5;
  p.power.clock_low = megahertz(500);
  const ClockTable clocks(p);
  EXPECT_EQ(clocks.top(), 100);
  EXPECT_EQ(clocks.idle(), 20);
  EXPECT_NEAR(clocks.power_share(100), 1.0, 1e-12);
  EXPECT_NEAR(clocks.power_share(75), 0.75 * 0.75 * 0.75, 1e-12);  // halfway: 0.75 V
  EXPECT_NEAR(clocks.power_share(25), 0.25 * 0.25, 1e-12);         // at the lowest voltage
  EXPECT_EQ(clocks.at_most(megahertz(557)), 55);
}

TEST(IdleRamp, FallsAfterTheTimeoutAtAControlPeriod) {
  Machine machine(bare(), 1);
  machine.run(cycles_work(1e6), Nanoseconds(0));
  run_until(machine, cycles_work(1e5), milliseconds(20));
  EXPECT_EQ(machine.clock(), megahertz(1000));
  const Nanoseconds idle_from = machine.free_at();
  machine.rest_until(idle_from + milliseconds(99));
  EXPECT_EQ(machine.clock(), megahertz(1000));
  machine.rest_until(idle_from + milliseconds(105.1));
  EXPECT_EQ(machine.clock(), megahertz(200));
}

TEST(IdleRamp, RisesExponentiallyAfterTheDelay) {
  Parameters p = bare();
  p.governor.ramp_delay = milliseconds(10);
  p.governor.ramp_time = milliseconds(20);
  p.governor.control_period = milliseconds(1);
  Machine machine(p, 1);
  KernelWork spin;
  spin.fixed = microseconds(100);
  const auto clock_at = [&](double ms) {
    run_until(machine, spin, milliseconds(ms) + microseconds(100));
    return machine.clock().value() / 1e6;
  };
  EXPECT_EQ(clock_at(9), 200);
  EXPECT_NEAR(clock_at(30), 1000 - 800 * std::exp(-1.0), 10);
  EXPECT_NEAR(clock_at(50), 1000 - 800 * std::exp(-2.0), 10);
  EXPECT_EQ(clock_at(200), 1000);
}

TEST(IdleRamp, SwitchedOffStaysHigh) {
  Machine machine(bare().without(Mechanism::idle_ramp), 1);
  EXPECT_EQ(machine.clock(), megahertz(1000));
  machine.rest_until(seconds(10));
  EXPECT_EQ(machine.clock(), megahertz(1000));
}

TEST(Spin, OfCyclesFollowsTheClockThroughControlPeriods) {
  Parameters p = bare();
  p.governor.ramp_time = milliseconds(20);
  Machine machine(p, 1);
  // Starts at 200 MHz and ends near 1000: 30 control periods, one kernel.
  const Execution execution = machine.run(cycles_work(1e8), Nanoseconds(0));
  EXPECT_NEAR(execution.cycles.value(), 1e8, 1e-2);
  EXPECT_NEAR(machine.cycles().value(), 1e8, 1e-2);
  EXPECT_GT(execution.time(), milliseconds(110));
  EXPECT_LT(execution.time(), milliseconds(140));
}

TEST(HeldClock, IsTheHighest) {
  Machine machine(bare().without(Mechanism::idle_ramp), 1);
  machine.hold_clock(megahertz(705));
  const Execution execution = machine.run(cycles_work(7e5), Nanoseconds(0));
  EXPECT_NEAR(execution.time().value(), 1e6, 1e-3);
  machine.hold_clock(std::nullopt);
  EXPECT_NEAR(machine.run(cycles_work(1e5), Nanoseconds(0)).time().value(), 1e5, 1e-3);
}

class Wandering : public testing::Test {
 protected:
  static Parameters parameters() {
    Parameters p = bare().without(Mechanism::idle_ramp);
    p.clock_states.depth = 0.023;
    p.clock_states.mean_dwell_high = milliseconds(10);
    p.clock_states.mean_dwell_low = milliseconds(5);
    return p;
  }
};

TEST_F(Wandering, DwellsHaveTheirMeans) {
  WanderingClock clock(parameters(), 3);
  double sums[2] = {0, 0};
  int counts[2] = {0, 0};
  for (int i = 0; i < 20000; ++i) {
    const bool low = clock.is_low();
    sums[low] += clock.busy_time_left().value();
    ++counts[low];
    clock.spend(clock.busy_time_left());
    EXPECT_NE(clock.is_low(), low);
  }
  EXPECT_NEAR(sums[0] / counts[0], 10e6, 0.3e6);  // 3 standard errors of 1 %
  EXPECT_NEAR(sums[1] / counts[1], 5e6, 0.15e6);
}

TEST_F(Wandering, AnIdleThatIsLongEnoughDrawsTheLevelAnew) {
  Parameters p = parameters();
  p.clock_states.redraw_idle = milliseconds(10);
  WanderingClock clock(p, 3);
  const Nanoseconds left = clock.busy_time_left();
  clock.wake(milliseconds(9.9));
  EXPECT_EQ(clock.busy_time_left(), left);
  int low = 0;
  for (int i = 0; i < 20000; ++i) {
    clock.wake(milliseconds(10));
    low += clock.is_low() ? 1 : 0;
  }
  EXPECT_NEAR(low / 20000.0, 1.0 / 3.0, 0.01);  // the share of time that the low level has
}

TEST_F(Wandering, KernelsRunAtTwoClocksTheDepthApart) {
  Machine machine(parameters(), 3);
  int high = 0, low = 0;
  for (const Execution& execution : run_until(machine, cycles_work(1e5), seconds(10))) {
    const double mhz = execution.cycles.value() / execution.time().value() * 1e3;
    EXPECT_NEAR(execution.cycles.value(), 1e5, 1e-3);
    EXPECT_GT(mhz, 979.9);
    EXPECT_LT(mhz, 1000.1);
    high += mhz > 999.9;
    low += mhz < 980.1;
  }
  EXPECT_NEAR(static_cast<double>(low) / (high + low), 1.0 / 3, 0.03);
}

}  // namespace
}  // namespace jitterscope::physics
