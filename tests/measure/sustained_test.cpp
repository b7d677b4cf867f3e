#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

const MeasureOptions kSustained = one_condition(CacheState::warm, Load::sustained);

// A launch that follows the clock: 100 us at 1,980 MHz.
Nanoseconds clocked_launch(const LaunchContext& context) {
  return microseconds(100.0 * 1980e6 / context.clock.value());
}

TEST(Sustained, SteadyDeviceSettles) {
  Laboratory laboratory;
  const Result result = laboratory.measure(kSustained);
  ASSERT_EQ(result.measurements.size(), 1u);
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.stop_reason, StopReason::precision);
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::steady);
  // Two looks, at 1 s and at 1.3 s.
  EXPECT_GE(measurement.steadiness->watched, seconds(1.3));
  EXPECT_NEAR(measurement.time.median.value(), 100e3, 100.0);
  EXPECT_LT(measurement.duration, seconds(3));
}

// A round holds one launch, and a quarter of the ten seconds holds twelve of them.
TEST(Sustained, LaunchesOfAFifthOfASecondSettle) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return milliseconds(200.0 + 0.2 * static_cast<double>(context.index % 3));
  };
  const Measurement measurement = laboratory.measure(kSustained).measurements.front();
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::steady);
}

// Most of the time goes into evictions: the ten seconds do not hold one of the operation's own.
TEST(Sustained, ShortColdLaunchesSettle) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const LaunchContext&) { return microseconds(4.4); };
  const Measurement measurement =
      laboratory.measure(one_condition(CacheState::cold, Load::sustained)).measurements.front();
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::steady);
  EXPECT_LT(measurement.steadiness->watched, seconds(1));
  // Two looks that pass: at half of the limit, and at 1.3 times that.
  EXPECT_GE(measurement.duration, seconds(6.5));
  EXPECT_LT(measurement.duration, seconds(10));
}

// The look at half of the limit passes, the next ones meet the change.
TEST(Sustained, ShortColdLaunchesThatChangeLateDoNotSettleBefore) {
  Laboratory laboratory;
  const Nanoseconds start = laboratory.device.host_time();
  laboratory.device.script().launch_time = [start](const LaunchContext& context) {
    return microseconds(context.time < start + seconds(5.6) ? 4.4 : 4.6);
  };
  const Measurement measurement =
      laboratory.measure(one_condition(CacheState::cold, Load::sustained)).measurements.front();
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_NE(measurement.steadiness->verdict, Steadiness::Verdict::steady);
}

// Nothing changes, and there is no time to show it: that is not a level that comes and goes.
TEST(Sustained, ARecordTooShortForTwoLooksIsNotCalledUnsteady) {
  Laboratory laboratory;
  MeasureOptions options = kSustained;
  options.sustained_time_limit = seconds(1.1);
  const Measurement measurement = laboratory.measure(options).measurements.front();
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::not_shown);
}

TEST(Sustained, AConditionHasARoundHoweverShortItsLimit) {
  Laboratory laboratory;
  MeasureOptions options = one_condition(CacheState::cold, Load::sustained);
  options.sustained_time_limit = Nanoseconds(1);
  const Result result = laboratory.measure(options);
  ASSERT_EQ(result.measurements.size(), 1U);
  EXPECT_EQ(result.measurements.front().rounds.size(), 1U);
  EXPECT_EQ(result.measurements.front().stop_reason, StopReason::time_limit);
}

TEST(Sustained, PowerCapIsWaitedFor) {
  Laboratory laboratory;
  const Nanoseconds start = laboratory.device.host_time();
  laboratory.device.script().clock = [start](Nanoseconds time) {
    return time < start + seconds(0.4) ? megahertz(1980) : megahertz(1782);
  };
  laboratory.device.script().launch_time = clocked_launch;
  const Result result = laboratory.measure(kSustained);
  const Measurement& measurement = result.measurements.front();
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::steady);
  EXPECT_GE(measurement.steadiness->settled_after, seconds(0.4));
  EXPECT_NEAR(measurement.time.median.value() / (100e3 / 0.9), 1.0, 0.003);
  ASSERT_TRUE(measurement.clock);
  EXPECT_NEAR(measurement.clock->median.value() / 1782e6, 1.0, 0.003);
}

TEST(Sustained, SlowWarmingNeverSettles) {
  Laboratory laboratory;
  const Nanoseconds start = laboratory.device.host_time();
  laboratory.device.script().launch_time = [start](const LaunchContext& context) {
    return microseconds(100.0 * (1.0 + 0.05 * to_seconds(context.time - start)));
  };
  const Result result = laboratory.measure(kSustained);
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
  ASSERT_TRUE(measurement.steadiness);
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::never_steady);
  // The last quarter is what is reported.
  EXPECT_GT(measurement.time.median, microseconds(135));
}

TEST(Sustained, WhatFallsLateIsSlowingDown) {
  Laboratory laboratory;
  const Nanoseconds start = laboratory.device.host_time();
  laboratory.device.script().launch_time = [start](const LaunchContext& context) {
    const double time = to_seconds(context.time - start);
    return microseconds(time < 0.9 ? 100.0 + 3 * std::floor(time / 0.1) : 130.0);
  };
  MeasureOptions options = kSustained;
  options.sustained_time_limit = seconds(1.4);
  const Result result = laboratory.measure(options);
  ASSERT_TRUE(result.measurements.front().steadiness);
  EXPECT_EQ(result.measurements.front().steadiness->verdict, Steadiness::Verdict::slowing_down);
}

TEST(Sustained, ChangingThrottleCountersAreNotSteady) {
  Laboratory laboratory;
  const Nanoseconds start = laboratory.device.host_time();
  // The clock is held down for an ever larger share of the time, up to all of it after 2 s.
  laboratory.device.script().sensors = [start](Nanoseconds time) {
    const double elapsed = to_seconds(time - start);
    SensorReading reading;
    reading.throttled_power = seconds(elapsed < 2 ? elapsed * elapsed / 4 : elapsed - 1);
    return reading;
  };
  const Result result = laboratory.measure(kSustained);
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.steadiness->verdict, Steadiness::Verdict::steady);
  EXPECT_GE(measurement.steadiness->settled_after, seconds(1.6));
}

TEST(Sustained, SteadyThrottlingIsSteady) {
  Laboratory laboratory;
  laboratory.device.script().sensors = [](Nanoseconds time) {
    SensorReading reading;
    reading.throttled_power = time * 0.6;
    return reading;
  };
  const Result result = laboratory.measure(kSustained);
  EXPECT_EQ(result.measurements.front().steadiness->verdict, Steadiness::Verdict::steady);
  EXPECT_LT(result.measurements.front().duration, seconds(3));
}

TEST(Sustained, WithoutWarmUpEveryRoundCounts) {
  Laboratory laboratory;
  MeasureOptions options = kSustained;
  options.warm_up = false;
  const Result result = laboratory.measure(options);
  const Measurement& measurement = result.measurements.front();
  EXPECT_FALSE(measurement.steadiness);
  EXPECT_EQ(measurement.stop_reason, StopReason::precision);
  EXPECT_LT(measurement.duration, seconds(0.5));
  EXPECT_EQ(measurement.launches.values,
            std::ssize(measurement.rounds) * std::ssize(measurement.rounds.front().launches));
}

TEST(Sustained, QueueNeverRunsDry) {
  Laboratory laboratory;
  const Session& session = laboratory.session;
  ASSERT_GT(session.calibration().events.value, Nanoseconds(0));
  MeasureOptions options = kSustained;
  options.warm_up = false;
  std::int64_t dry_before = -1, waits_before = -1, dry_after = 0, waits_after = 0;
  options.progress = [&](const Progress&) {
    dry_after = laboratory.device.state().times_dry;
    waits_after = count_of(laboratory.device.log(), Call::wait);
    if (dry_before < 0) dry_before = dry_after, waits_before = waits_after;
  };
  laboratory.measure(options);
  EXPECT_EQ(dry_after, dry_before);
  EXPECT_EQ(waits_after, waits_before);
  EXPECT_GT(count_of(laboratory.device.log(), Call::wait_for), 10);
}

TEST(Sustained, InterruptionKeepsTheRoundsSoFar) {
  for (const std::int64_t wanted : {1, 5, 40}) {
    Laboratory laboratory;
    MeasureOptions options = kSustained;
    std::int64_t rounds = 0;
    options.progress = [&](const Progress& progress) { rounds = progress.rounds; };
    options.interrupted = [&] { return rounds >= wanted; };
    const Result result = laboratory.measure(options);
    ASSERT_EQ(result.measurements.size(), 1u);
    EXPECT_EQ(result.measurements.front().stop_reason, StopReason::interrupted);
    // Two more were in flight.
    EXPECT_GE(std::ssize(result.measurements.front().rounds), wanted);
    EXPECT_LE(std::ssize(result.measurements.front().rounds), wanted + 2);
  }
}

TEST(Sustained, EveryInstrumentSettles) {
  for (const Instrument instrument :
       {Instrument::events, Instrument::graph, Instrument::cupti, Instrument::host}) {
    Laboratory laboratory;
    MeasureOptions options = kSustained;
    options.instrument = instrument;
    const Result result = laboratory.measure(options);
    EXPECT_EQ(result.measurements.front().steadiness->verdict, Steadiness::Verdict::steady);
    EXPECT_EQ(result.measurements.front().instrument, instrument);
  }
}

TEST(Sustained, ModesAreListedOnce) {
  Laboratory laboratory;
  auto random = std::make_shared<Random>(3);
  laboratory.device.script().launch_time = [random](const auto&) {
    return microseconds((random->uniform() < 0.7 ? 100.0 : 110.0) * (1 + 0.001 * random->normal()));
  };
  const Result result = laboratory.measure(kSustained);
  const Measurement& measurement = result.measurements.front();
  ASSERT_EQ(measurement.modes.size(), 2u);
  EXPECT_NEAR(measurement.modes[0].location.value(), 100e3, 200);
  EXPECT_NEAR(measurement.modes[1].location.value(), 110e3, 200);
  EXPECT_NEAR(measurement.modes[0].weight, 0.7, 0.05);
}

}  // namespace
}  // namespace jitterscope::scripted
