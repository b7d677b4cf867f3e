#include "measure/steadiness.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

// A round each 10 ms; the chip draws `watts` and the cap holds the clock in a share of the time.
Measurement half_a_second(double watts, double capped) {
  Measurement measurement;
  measurement.conditions = {.cache = CacheState::cold, .load = Load::sustained};
  measurement.duration = milliseconds(500);
  measurement.time.median = microseconds(15);
  measurement.clock = ClockEstimate{megahertz(1500), megahertz(1490), megahertz(1510)};
  for (int i = 0; i <= 50; ++i) {
    Round round;
    round.started = milliseconds(10.0 * i);
    round.launches = {microseconds(15)};
    SensorReading sensors;
    sensors.power = Watts(i % 2 == 0 ? watts + 40 : watts - 40);
    sensors.throttled_power = milliseconds(10.0 * i * capped);
    round.sensors = sensors;
    measurement.rounds.push_back(round);
  }
  return measurement;
}

TEST(LoadProbe, PowerIsTheMeanOfItsReadingsAndTheCapsShareItsCounters) {
  const LoadProbe probe = load_probe_of(half_a_second(690, 0.8));
  EXPECT_EQ(probe.cache, CacheState::cold);
  EXPECT_NEAR(probe.power.value().value(), 690, 1);
  EXPECT_NEAR(probe.power_capped.value(), 0.8, 1e-9);
  EXPECT_EQ(probe.clock, megahertz(1500));
  EXPECT_EQ(probe.time, microseconds(15));
}

// The first fifth still has the voltage of an idle chip.
TEST(LoadProbe, TheFirstMomentsAreNotItsPower) {
  Measurement measurement = half_a_second(690, 0.0);
  for (int i = 0; i < 10; ++i) measurement.rounds[i].sensors->power = Watts(100);
  EXPECT_NEAR(load_probe_of(measurement).power.value().value(), 690, 2);
}

TEST(LoadProbe, ReadingsWithoutPowerAreLeftOut) {
  Measurement measurement = half_a_second(690, 0.0);
  for (int i = 20; i < 30; ++i) measurement.rounds[i].sensors->power.reset();
  EXPECT_NEAR(load_probe_of(measurement).power.value().value(), 690, 2);
}

TEST(LoadProbe, WithoutSensorsTheyAreAbsent) {
  Measurement measurement = half_a_second(690, 0.8);
  for (Round& round : measurement.rounds) round.sensors.reset();
  EXPECT_FALSE(load_probe_of(measurement).power);
  EXPECT_FALSE(load_probe_of(measurement).power_capped);
  measurement.rounds.clear();
  EXPECT_FALSE(load_probe_of(measurement).power);
}

}  // namespace
}  // namespace jitterscope
