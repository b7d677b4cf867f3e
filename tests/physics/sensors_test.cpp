#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

Parameters capped() {
  Parameters p = bare();
  p.power.cap = Watts(300);
  p.sensors.power_update = milliseconds(25);
  return p;
}

TEST(Sensors, PowerIsTheMeanOfItsWindow) {
  Parameters p = bare().without(Mechanism::idle_ramp);
  Machine machine(p, 1);
  machine.rest_until(seconds(1));
  EXPECT_NEAR(machine.read_sensors(seconds(1)).power->value(), 50, 1e-6);
  run_until(machine, cycles_work(1e5, 1.0), seconds(1.025));
  EXPECT_NEAR(machine.read_sensors(machine.free_at()).power->value(), 50 + 400 * 0.25, 3);
  run_until(machine, cycles_work(1e5, 1.0), seconds(1.2));
  EXPECT_NEAR(machine.read_sensors(machine.free_at()).power->value(), 450, 0.5);
}

TEST(Sensors, AreUpdatedOncePerPeriod) {
  Machine machine(capped().without(Mechanism::idle_ramp), 1);
  machine.rest_until(seconds(1));
  run_until(machine, cycles_work(1e5, 1.0), seconds(1.030));
  const Watts first = *machine.read_sensors(seconds(1.0301)).power;
  run_until(machine, cycles_work(1e5, 1.0), seconds(1.049));
  EXPECT_EQ(*machine.read_sensors(seconds(1.0495)).power, first);
  run_until(machine, cycles_work(1e5, 1.0), seconds(1.051));
  EXPECT_GT(*machine.read_sensors(seconds(1.052)).power, first);
}

TEST(Sensors, DoNotDisturb) {
  Machine asked(capped(), 1), left_alone(capped(), 1);
  for (int i = 0; i < 20000; ++i) {
    const Execution a = asked.run(cycles_work(1e5, 1.0), asked.free_at());
    asked.read_sensors(asked.free_at());
    const Execution b = left_alone.run(cycles_work(1e5, 1.0), left_alone.free_at());
    ASSERT_EQ(a.end, b.end) << i;
  }
}

TEST(Sensors, CountThrottlingExactly) {
  Machine machine(capped(), 1);
  Nanoseconds slow(0);
  for (const Execution& execution : run_until(machine, cycles_work(1e5, 1.0), seconds(1))) {
    const double mhz = execution.cycles.value() / execution.time().value() * 1e3;
    if (mhz < 999.9) slow += execution.time();
  }
  const MachineSensors sensors = machine.read_sensors(machine.free_at());
  EXPECT_NEAR(sensors.throttled_power->value(), slow.value(),
              0.3e6);  // a kernel of the first change may be in part
  EXPECT_EQ(*sensors.throttled_thermal, Nanoseconds(0));
  EXPECT_EQ(sensors.clock_reasons, std::vector<std::string>{"power_cap"});
}

TEST(Sensors, DoNotSeeThePeakLimit) {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.power.peak_limit = Watts(250);
  Machine machine(p, 1);
  run_until(machine, cycles_work(1e5, 1.0), seconds(0.1));
  EXPECT_LT(machine.clock(), megahertz(600));
  const MachineSensors sensors = machine.read_sensors(machine.free_at());
  EXPECT_EQ(*sensors.clock, megahertz(1000));
  EXPECT_EQ(*sensors.throttled_power, Nanoseconds(0));
}

TEST(Sensors, ClockErrsUniformly) {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.sensors.clock_error = megahertz(15);
  Machine machine(p, 1);
  machine.hold_clock(megahertz(500));
  machine.rest_until(seconds(1));
  double lowest = 1e9, highest = 0;
  for (int i = 0; i < 1000; ++i) {
    const double mhz = machine.read_sensors(seconds(1)).clock->value() / 1e6;
    lowest = std::min(lowest, mhz);
    highest = std::max(highest, mhz);
  }
  EXPECT_NEAR(lowest, 485, 0.5);
  EXPECT_NEAR(highest, 515, 0.5);
}

TEST(Sensors, WithholdWhatOneMayNotRead) {
  Parameters p = bare();
  p.sensors.power = p.sensors.temperature = p.sensors.energy = false;
  p.sensors.throttle_counters = p.sensors.clock = false;
  Machine machine(p, 1);
  const MachineSensors sensors = machine.read_sensors(seconds(1));
  EXPECT_FALSE(sensors.power || sensors.temperature || sensors.energy || sensors.clock);
  EXPECT_FALSE(sensors.throttled_power || sensors.throttled_thermal);
  EXPECT_EQ(sensors.clock_reasons, std::vector<std::string>{"idle"});
}

}  // namespace
}  // namespace jitterscope::physics
