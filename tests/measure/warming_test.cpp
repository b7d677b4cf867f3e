#include "measure/steadiness.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace jitterscope {
namespace {

/// Five seconds of rounds whose temperature rises evenly, from 40 °C.
std::vector<Round> rounds_that_warm(double degrees_per_second, std::optional<double> share_capped) {
  std::vector<Round> rounds(500);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i].started = seconds(0.01 * static_cast<double>(i));
    SensorReading sensors;
    sensors.temperature = Celsius(40 + degrees_per_second * to_seconds(rounds[i].started));
    if (share_capped) sensors.throttled_power = rounds[i].started * *share_capped;
    rounds[i].sensors = sensors;
  }
  return rounds;
}

TEST(Warming, UnderTheCapTheBorderIsAFewDegreesToCome) {
  // 0.3 % at 0.05 % for each degree is 6 °C, in 40 s.
  EXPECT_TRUE(heat_may_still_move(rounds_that_warm(0.16, 0.5), std::nullopt));
  EXPECT_FALSE(heat_may_still_move(rounds_that_warm(0.14, 0.5), std::nullopt));
}

TEST(Warming, WithoutTheCapHeatMovesNothing) {
  EXPECT_FALSE(heat_may_still_move(rounds_that_warm(1.0, 0.0), std::nullopt));
  EXPECT_TRUE(heat_may_still_move(rounds_that_warm(1.0, std::nullopt), std::nullopt));
}

TEST(Warming, TheSlowdownTemperatureIsAhead) {
  // 45 °C at the end, and 20 °C more in 20 s.
  EXPECT_TRUE(heat_may_still_move(rounds_that_warm(1.0, 0.0), Celsius(64)));
  EXPECT_FALSE(heat_may_still_move(rounds_that_warm(1.0, 0.0), Celsius(66)));
}

TEST(Warming, UnknownOrLevelTemperaturesSayNothing) {
  EXPECT_FALSE(heat_may_still_move(rounds_that_warm(0.0, 0.5), Celsius(41)));
  std::vector<Round> unknown = rounds_that_warm(1.0, 0.5);
  unknown[7].sensors->temperature.reset();
  EXPECT_FALSE(heat_may_still_move(unknown, std::nullopt));
}

}  // namespace
}  // namespace jitterscope
