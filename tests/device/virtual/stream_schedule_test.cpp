#include "device/virtual/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace jitterscope::virtual_gpu {
namespace {

constexpr StreamCosts kFree{};
constexpr StreamCosts kGapOfTen{Nanoseconds(10), Nanoseconds(0)};

StreamLaunch kernel(double time, double processors, std::size_t stream) {
  return {.time = Nanoseconds(time), .processors = processors, .stream = stream};
}
StreamLaunch copy(double time, Engine engine, std::size_t stream) {
  return {.time = Nanoseconds(time), .engine = engine, .stream = stream};
}

double end_of_all(const std::vector<StreamLaunch>& launches, const StreamCosts& costs = kFree,
                  const std::optional<StreamLoad>& load = std::nullopt) {
  double end = 0.0;
  for (const Span& span : schedule_streams(launches, costs, load)) end = std::max(end, span.end.value());
  return end;
}

TEST(StreamSchedule, OneStreamRunsInOrderAGapApart) {
  const auto spans = schedule_streams({kernel(100, 0.1, 0), kernel(50, 1, 0), kernel(30, 0.1, 0)}, kGapOfTen);
  EXPECT_EQ(spans[1].start, Nanoseconds(110));
  EXPECT_EQ(spans[1].end, Nanoseconds(160));
  EXPECT_EQ(spans[2].start, Nanoseconds(170));
  EXPECT_EQ(spans[2].end, Nanoseconds(200));
}

TEST(StreamSchedule, TwoHalvesTakeAsLongAsOne) {
  EXPECT_NEAR(end_of_all({kernel(100, 0.5, 0), kernel(100, 0.5, 1)}), 100, 1e-6);
  EXPECT_NEAR(end_of_all({kernel(100, 0.5, 0), kernel(100, 0.5, 0)}), 200, 1e-6);
  // Three on three streams: the third has no room.
  EXPECT_NEAR(end_of_all({kernel(100, 0.5, 0), kernel(100, 0.5, 1), kernel(100, 0.5, 2)}), 200, 1e-6);
}

TEST(StreamSchedule, WhatFillsAllGainsNothing) {
  std::vector<StreamLaunch> one, two;
  for (std::size_t i = 0; i < 6; ++i) {
    one.push_back(kernel(100, 1.0, 0));
    two.push_back(kernel(100, 1.0, i % 2));
  }
  EXPECT_NEAR(end_of_all(one, kGapOfTen), 650, 1e-6);
  EXPECT_NEAR(end_of_all(two, kGapOfTen), 650, 1e-6) << "processors are handed over a gap apart";
}

// Its last blocks end a whole time after they began, so that room for some of them saves nothing.
TEST(StreamSchedule, ALaunchThatFitsAlmostStartsEarlyAndEndsNoEarlier) {
  const auto spans = schedule_streams({kernel(100, 0.9, 0), kernel(100, 0.9, 1)}, kFree);
  EXPECT_EQ(spans[1].start, Nanoseconds(0));
  EXPECT_NEAR(spans[1].end.value(), 200, 1e-6);
}

// Blocks of many waves take processors as those become free.
TEST(StreamSchedule, ALargeLaunchTakesWhatASmallOneLeaves) {
  const auto spans = schedule_streams({kernel(100, 0.5, 0), kernel(100, 1.0, 1)}, kFree);
  EXPECT_EQ(spans[1].start, Nanoseconds(0));
  EXPECT_NEAR(spans[1].end.value(), 150, 1e-6) << "half of it in the first 100 ns";
}

TEST(StreamSchedule, BandwidthIsShared) {
  std::vector<StreamLaunch> both = {kernel(100, 0.5, 0), kernel(100, 0.5, 1)};
  for (StreamLaunch& launch : both) launch.bandwidth = 1.0;
  EXPECT_NEAR(end_of_all(both), 200, 1e-6);
  for (StreamLaunch& launch : both) launch.bandwidth = 0.5;
  EXPECT_NEAR(end_of_all(both), 100, 1e-6);
}

TEST(StreamSchedule, CopiesOfBothDirectionsRunBesideKernels) {
  EXPECT_NEAR(end_of_all({copy(100, Engine::copy_to_device, 0), kernel(100, 1, 1),
                          copy(100, Engine::copy_to_host, 2)}),
              100, 1e-6);
  EXPECT_NEAR(end_of_all({copy(100, Engine::copy_to_device, 0), copy(100, Engine::copy_to_device, 1)}), 200,
              1e-6)
      << "one engine";
}

TEST(StreamSchedule, DependenciesOrderAndCost) {
  std::vector<StreamLaunch> launches = {kernel(100, 0.1, 0), kernel(30, 0.1, 1), kernel(100, 0.1, 1)};
  launches[2].dependencies = {{0, Nanoseconds(25)}, {1, Nanoseconds(25)}};
  const auto spans = schedule_streams(launches, kGapOfTen);
  EXPECT_EQ(spans[1].start, Nanoseconds(0));
  EXPECT_EQ(spans[2].start, Nanoseconds(125));
  launches[0].dependencies = {{2, Nanoseconds(0)}};
  EXPECT_THROW(schedule_streams(launches, kFree), std::logic_error);
}

TEST(StreamSchedule, NothingStartsBeforeTheHostHasLaunchedIt) {
  std::vector<StreamLaunch> launches = {kernel(10, 0.1, 0), kernel(10, 0.1, 1)};
  launches[1].earliest = Nanoseconds(50);
  EXPECT_EQ(schedule_streams(launches, kFree)[1].start, Nanoseconds(50));
}

TEST(StreamSchedule, KernelsOfUnlikeStreamsStartApart) {
  const StreamCosts costs{Nanoseconds(10), Nanoseconds(40)};
  const auto spans = schedule_streams({kernel(100, 0.1, 0), kernel(100, 0.1, 1), kernel(100, 0.1, 2),
                                       copy(100, Engine::copy_to_host, 3), kernel(5, 0.1, 0)},
                                      costs);
  EXPECT_EQ(spans[1].start, Nanoseconds(40));
  EXPECT_EQ(spans[2].start, Nanoseconds(80));
  EXPECT_EQ(spans[3].start, Nanoseconds(0)) << "copies are not kernels";
  EXPECT_EQ(spans[4].start, Nanoseconds(120));
}

// A load of ten waves of 10 us, and four launches of 1 us.
TEST(StreamSchedule, PriorityDecidesWhetherALaunchWaitsForAWaveOrForAll) {
  const std::vector<StreamLaunch> launches(4, kernel(1000, 0.1, 0));
  StreamLoad load{microseconds(100), microseconds(10)};
  EXPECT_NEAR(end_of_all(launches, kGapOfTen, load), 100'000 + 4 * 1000 + 3 * 10, 1e-3);
  load.is_passed = true;
  EXPECT_NEAR(end_of_all(launches, kGapOfTen, load), 4 * 10'000 + 1000, 1e-3);
  EXPECT_NEAR(end_of_all(launches, kGapOfTen), 4 * 1000 + 3 * 10, 1e-3) << "alone it waits for nothing";
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
