#include "physics/power_and_clocks.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

Parameters heating() {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.thermal.resistance_fast = 0.04;
  p.thermal.resistance_slow = 0.06;
  return p;
}

TEST(Temperature, HasTwoStages) {
  const Parameters p = heating();
  Temperature temperature(p.thermal, Watts(0));
  temperature.advance(Watts(500), seconds(1));
  temperature.advance(Watts(500), seconds(2));
  EXPECT_NEAR(temperature.value().value(),
              25 + 20 * (1 - std::exp(-3.0 / 2)) + 30 * (1 - std::exp(-3.0 / 50)), 1e-9);
}

TEST(Temperature, SettlesAtAmbientPlusPowerTimesResistance) {
  Machine machine(heating(), 1);
  run_until(machine, cycles_work(1e6, 1.0), seconds(400));
  EXPECT_NEAR(machine.read_sensors(machine.free_at()).temperature->value(), 25 + 450 * 0.1, 1.0);
  machine.rest_until(seconds(1000));
  EXPECT_NEAR(machine.read_sensors(seconds(1000)).temperature->value(), 25 + 50 * 0.1, 0.6);
}

TEST(Temperature, RaisesLeakage) {
  Parameters p = heating();
  p.power.leakage = 0.01;
  const auto watts = [](const Parameters& parameters) {
    Machine machine(parameters, 1);
    run_until(machine, cycles_work(1e6, 1.0), seconds(400));
    return machine.read_sensors(machine.free_at()).power->value();
  };
  // T = 25 + 0.1·P, P = 450 + 50·0.01·(T - 25): P = 450/0.95
  EXPECT_NEAR(watts(p), 450 / 0.95, 0.5);
  EXPECT_NEAR(watts(p.without(Mechanism::thermal)), 450 + 50 * 0.01 * 5.26, 0.5);
}

TEST(Slowdown, KeepsTheTemperatureNearItsLimit) {
  Parameters p = heating();
  p.thermal.time_slow = seconds(5);
  p.thermal.slowdown_temperature = Celsius(60);
  Machine machine(p, 1);
  run_until(machine, cycles_work(1e6, 1.0), seconds(100));
  EXPECT_LT(machine.clock(), megahertz(950));
  const MachineSensors sensors = machine.read_sensors(machine.free_at());
  EXPECT_NEAR(sensors.temperature->value(), 60, 2);
  EXPECT_GT(*sensors.throttled_thermal, seconds(10));
  EXPECT_EQ(*sensors.throttled_power, Nanoseconds(0));
  EXPECT_EQ(sensors.clock_reasons, std::vector<std::string>{"thermal"});
  Machine cool(p.without(Mechanism::thermal), 1);
  run_until(cool, cycles_work(1e6, 1.0), seconds(100));
  EXPECT_EQ(cool.clock(), megahertz(1000));
}

TEST(Refresh, OfHotMemoryTakesBandwidth) {
  Parameters p = heating();
  p.memory.refresh_temperature = Celsius(60);
  p.memory.refresh_tax = 0.1;
  Machine machine(p, 1);
  KernelWork read;
  const Bytes size(1'000'000'000);
  read.activity = 1;
  read.accesses = {{machine.allocate(size), size, false}};
  const Nanoseconds cold = machine.run(read, Nanoseconds(0)).time();
  run_until(machine, read, seconds(400));
  EXPECT_NEAR(machine.run(read, Nanoseconds(0)).time() / cold, 1 / 0.9, 1e-9);
}

}  // namespace
}  // namespace jitterscope::physics
