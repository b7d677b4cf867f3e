#include <gmock/gmock.h>

#include "measure/round_runner.hpp"

namespace jitterscope {
namespace {

// Marks as dear as a GPU's.
Calibration calibration_with_grain(Nanoseconds grain, Nanoseconds marks = microseconds(2.8)) {
  Calibration calibration;
  calibration.events.value = marks;
  calibration.events.grain = calibration.graph.grain = grain;
  return calibration;
}

RoundShape burst_shape(Nanoseconds launch_time, CacheState cache = CacheState::warm,
                       const MeasureOptions& options = {}, Nanoseconds grain = Nanoseconds(32)) {
  return shape_round(launch_time, cache, Load::burst, options, calibration_with_grain(grain));
}

TEST(RoundShape, LastsFiveMillisecondsOrHoldsFortyLaunches) {
  for (const double launch : {30e3, 100e3, 250e3, 300e3, 1e6, 4e6, 6e6, 1e9}) {
    const RoundShape shape = burst_shape(Nanoseconds(launch));
    ASSERT_EQ(shape.instrument, Instrument::events);
    const auto launches = static_cast<double>(shape.values * shape.group);
    // Up to three less, so that the four parts hold equally many.
    EXPECT_TRUE(launches >= 40 || (launches + 3) * launch >= 5e6) << launch;
    EXPECT_GE(shape.values, 1);
    // Not longer than it must be: one launch less would be too short.
    EXPECT_TRUE(launches <= 40 && (launches - 1) * launch < 5e6) << launch;
  }
}

TEST(RoundShape, AskedNumberOfLaunchesIsTaken) {
  MeasureOptions options;
  options.launches_per_round = 7;
  EXPECT_EQ(burst_shape(milliseconds(1), CacheState::warm, options).values, 7);
}

TEST(RoundShape, ShortLaunchesAreReadBySlope) {
  EXPECT_EQ(burst_shape(microseconds(19)).instrument, Instrument::graph);
  EXPECT_EQ(burst_shape(microseconds(21)).instrument, Instrument::events);
  EXPECT_EQ(burst_shape(microseconds(2), CacheState::cold).instrument, Instrument::graph);
  EXPECT_EQ(burst_shape(microseconds(21), CacheState::cold).instrument, Instrument::events);
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  EXPECT_EQ(burst_shape(microseconds(2), CacheState::warm, eager).instrument, Instrument::events);
}

TEST(RoundShape, RecordedQueueIsReadBySlopeAtAnyLength) {
  MeasureOptions options;
  options.queue = QueueMode::graph;
  EXPECT_EQ(burst_shape(milliseconds(2), CacheState::warm, options).instrument, Instrument::graph);
  EXPECT_EQ(burst_shape(microseconds(2), CacheState::cold, options).instrument, Instrument::graph);
}

TEST(RoundShape, AskedInstrumentIsTaken) {
  MeasureOptions options;
  for (const Instrument instrument :
       {Instrument::events, Instrument::graph, Instrument::cupti, Instrument::host}) {
    options.instrument = instrument;
    EXPECT_EQ(burst_shape(microseconds(2), CacheState::warm, options).instrument, instrument);
  }
}

TEST(RoundShape, SlopesAreLongAgainstTheGrain) {
  for (const double launch : {200.0, 1e3, 2e3, 5e3, 10e3, 19e3}) {
    const SlopeShape slope = burst_shape(Nanoseconds(launch)).slope;
    EXPECT_GT(slope.long_launches, slope.short_launches);
    EXPECT_GE(slope.pairs, 1);
    // The 500 ns of older GPUs against half a percent.
    const auto span = static_cast<double>(slope.long_launches - slope.short_launches) * launch;
    EXPECT_GE(span, 500 / 0.005);
  }
}

TEST(RoundShape, GroupsWhereTheGrainIsCoarseAndLaunchingIsCheap) {
  const MeasureOptions options;
  const auto shape_on_cpu = [&](CacheState cache, double grain) {
    const Calibration calibration = calibration_with_grain(Nanoseconds(grain), Nanoseconds(25));
    return shape_round(microseconds(50), cache, Load::burst, options, calibration);
  };
  EXPECT_EQ(shape_on_cpu(CacheState::warm, 32).group, 1);
  const RoundShape coarse = shape_on_cpu(CacheState::warm, 500);
  EXPECT_GT(coarse.group, 1);
  EXPECT_LE(500.0 / (50e3 * static_cast<double>(coarse.group)), options.precision / 3 * 1.001);
  EXPECT_GE(coarse.values * coarse.group, 12);
  // Eviction stands between any two launches, so that they cannot be timed together.
  EXPECT_EQ(shape_on_cpu(CacheState::cold, 500).group, 1);
  // Where launching is dear, a group would hold the gap between launches once per launch.
  EXPECT_EQ(burst_shape(microseconds(50), CacheState::warm, options, Nanoseconds(500)).group, 1);
}

TEST(RoundShape, AHostGroupsWhereItsMarksAreNotKnownWellEnough) {
  Calibration calibration = calibration_with_grain(Nanoseconds(1), Nanoseconds(25));
  calibration.events.scatter = Nanoseconds(600);
  const auto shape_of = [&](Nanoseconds launch_time, const MeasureOptions& options = {}) {
    RoundShape shape = shape_round(launch_time, CacheState::warm, Load::burst, options, calibration);
    group_launches(shape, launch_time, options, calibration);
    return shape;
  };
  EXPECT_EQ(shape_of(Nanoseconds(1000)).group, 360);  // 0.6 µs of 360 are a third of 0.5 %
  EXPECT_EQ(shape_of(Nanoseconds(1000)).values, 13);  // in 5 ms
  EXPECT_EQ(shape_of(milliseconds(1)).group, 1);
  EXPECT_EQ(shape_of(Nanoseconds(20)).group, 18'000);
  EXPECT_EQ(shape_of(Nanoseconds(20)).values, 13);
  EXPECT_EQ(shape_of(Nanoseconds(1)).values * shape_of(Nanoseconds(1)).group, 720'000);
  MeasureOptions asked;
  asked.launches_per_round = 20;
  EXPECT_EQ(shape_of(Nanoseconds(1000), asked).group, 20);
  EXPECT_EQ(shape_of(Nanoseconds(1000), asked).values, 1);
  calibration.events.value = microseconds(2);  // as busy a machine as this reads marks at times
  EXPECT_EQ(shape_of(microseconds(30)).parts, 1);
  EXPECT_EQ(shape_of(microseconds(30)).values * shape_of(microseconds(30)).group, 156);
}

TEST(RoundShape, EventRoundsCloseTheGateFourTimes) {
  EXPECT_EQ(burst_shape(microseconds(50)).parts, 4);
  EXPECT_EQ(burst_shape(microseconds(25), CacheState::cold).parts, 4);
  EXPECT_EQ(burst_shape(microseconds(2)).parts, 1);  // slopes
  EXPECT_EQ(burst_shape(milliseconds(1)).parts, 1);  // five launches
  for (const double launch : {21e3, 60e3, 130e3, 400e3, 700e3}) {
    const RoundShape shape = burst_shape(Nanoseconds(launch));
    EXPECT_EQ(shape.values % shape.parts, 0) << launch;
  }
  const RoundShape sustained = shape_round(microseconds(50), CacheState::warm, Load::sustained,
                                           MeasureOptions(), calibration_with_grain(Nanoseconds(32)));
  EXPECT_EQ(sustained.parts, 1);
}

TEST(RoundShape, LongLaunchesAreConditionedOnce) {
  EXPECT_EQ(burst_shape(milliseconds(4)).conditioning_launches, 2);
  EXPECT_EQ(burst_shape(milliseconds(6)).conditioning_launches, 1);
}

TEST(RoundShape, LongEvictionsLimitTheLaunches) {
  const auto launches_behind = [](Nanoseconds eviction, const MeasureOptions& options = {}) {
    RoundShape shape = burst_shape(microseconds(50), CacheState::cold, options);
    limit_evictions(shape, eviction, options);
    return shape;
  };
  EXPECT_EQ(launches_behind(milliseconds(2)).values, 40);
  EXPECT_EQ(launches_behind(milliseconds(2)).conditioning_launches, 2);
  EXPECT_EQ(launches_behind(milliseconds(10)).values, 10);
  EXPECT_EQ(launches_behind(milliseconds(10)).parts, 1);
  EXPECT_EQ(launches_behind(milliseconds(10)).conditioning_launches, 1);
  EXPECT_EQ(launches_behind(seconds(1)).values, 3);
  MeasureOptions asked;
  asked.launches_per_round = 20;
  EXPECT_EQ(launches_behind(seconds(1), asked).values, 20);
}

TEST(RoundShape, SustainedRoundsFitTheQueue) {
  const RoundShape shape = shape_round(microseconds(21), CacheState::warm, Load::sustained, MeasureOptions(),
                                       calibration_with_grain(Nanoseconds(32)));
  EXPECT_EQ(shape.values, 200);
}

}  // namespace
}  // namespace jitterscope
