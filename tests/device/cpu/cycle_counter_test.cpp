#include "device/cpu/cpu_device.hpp"

#include <gtest/gtest.h>

namespace jitterscope::cpu {
namespace {

TEST(CycleCounter, ByKnownCyclesTheClockIsTheMeanOfBothEnds) {
  CycleCounter::Reading from, to;
  from.wall = Nanoseconds(100);
  from.frequency = Hertz(2e9);
  to.wall = Nanoseconds(600);
  to.frequency = Hertz(3e9);
  const auto clock = CycleCounter::between(from, to);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->frequency, Hertz(2.5e9));
  EXPECT_EQ(clock->window, Nanoseconds(500));
}

TEST(CycleCounter, ByPerfEventsTheClockIsCyclesOverRunningTime) {
  CycleCounter::Reading from, to;
  to.wall = Nanoseconds(2000);
  to.running = Nanoseconds(1000);
  to.cycles = 3000;
  const auto clock = CycleCounter::between(from, to);
  ASSERT_TRUE(clock);
  EXPECT_DOUBLE_EQ(clock->frequency.value(), 3e9);
  EXPECT_EQ(clock->window, Nanoseconds(2000));
  EXPECT_FALSE(CycleCounter::between(to, to));
}

TEST(KnownCycles, ClockIsPlausible) {
  const Hertz clock = time_known_cycles();
  EXPECT_GT(clock, Hertz(0.2e9));
  EXPECT_LT(clock, Hertz(10e9));
}

}  // namespace
}  // namespace jitterscope::cpu
