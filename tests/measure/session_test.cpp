#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

const MeasureOptions kWarmBurst = one_condition(CacheState::warm, Load::burst);

TEST(Session, FirstCallIsReportedAndInNoEstimate) {
  Laboratory laboratory;
  laboratory.device.script().launch_cost = [](std::int64_t index) {
    return index == 0 ? milliseconds(300) : microseconds(3);
  };
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return context.index == 0 ? milliseconds(5) : microseconds(100);
  };
  const Result result = laboratory.measure(kWarmBurst);
  EXPECT_NEAR(result.first_call.value(), 305e6, 1e5);
  EXPECT_DOUBLE_EQ(result.launch_cost.value(), 3e3);
  const Measurement& measurement = result.measurements.front();
  EXPECT_LT(measurement.launches.maximum, microseconds(101));
  EXPECT_NEAR(measurement.time.median.value(), 100e3, 100);
  // Rounds were shaped by the later launches.
  EXPECT_EQ(measurement.rounds.front().launches.size(), 40u);
}

TEST(Session, ConditionsAndInstrumentAreStated) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(5); };
  MeasureOptions options;
  options.precision = 0.02;
  options.data = DataKind::ones;
  options.locked_clock = megahertz(1200);
  options.placement = 3;
  options.seed = 7;
  const Result result = laboratory.measure(options);
  ASSERT_EQ(result.measurements.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const Measurement& measurement = result.measurements[i];
    const bool warm = i % 2 == 0;
    const Conditions expected{warm ? CacheState::warm : CacheState::cold,
                              i < 2 ? Load::burst : Load::sustained,
                              DataKind::ones,
                              QueueMode::saturated,
                              false,
                              megahertz(1200),
                              3,
                              7};
    EXPECT_EQ(measurement.conditions, expected);
    EXPECT_EQ(measurement.instrument, Instrument::graph);
    EXPECT_EQ(measurement.constant.value, laboratory.session.calibration().graph.value);
    EXPECT_EQ(measurement.precision_asked, 0.02);
  }
}

TEST(Session, TheConstantIsThatOfTheInstrument) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(50); };
  const Measurement measurement = laboratory.measure(kWarmBurst).measurements.front();
  EXPECT_EQ(measurement.instrument, Instrument::events);
  EXPECT_EQ(measurement.constant.value, laboratory.session.calibration().events.value);
}

TEST(Session, InstrumentIsChosenByTheTimeWithoutTheMarksConstant) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(19); };
  EXPECT_EQ(laboratory.measure(kWarmBurst).measurements.front().instrument, Instrument::graph);
}

TEST(Session, WhatCannotBeRecordedIsReadByEvents) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(5); };
  laboratory.device.script().can_record = false;
  const Result result = laboratory.measure(kWarmBurst);
  EXPECT_EQ(result.measurements.front().instrument, Instrument::events);
  EXPECT_NEAR(result.measurements.front().time.median.value(), 5e3, 100);
}

TEST(Session, WhatCannotBeRecordedFailsWhereARecordingWasAskedFor) {
  Laboratory laboratory;
  laboratory.device.script().can_record = false;
  MeasureOptions options = kWarmBurst;
  options.queue = QueueMode::graph;
  EXPECT_THROW(laboratory.measure(options), FailedError);
  options = kWarmBurst;
  options.instrument = Instrument::graph;
  EXPECT_THROW(laboratory.measure(options), FailedError);
}

TEST(Session, FailureInTheMiddleIsThrownWithTheGateOpen) {
  for (const Call call : {Call::launch, Call::mark, Call::wait, Call::elapsed}) {
    for (const std::int64_t after : {1, 2, 5, 50, 150}) {
      Laboratory laboratory;
      laboratory.device.script().failure = Failure{call, laboratory.device.state().counts[call] + after};
      MeasureOptions options;
      options.sustained_time_limit = seconds(1);
      options.time_limit = seconds(60);
      options.minimum_rounds = 100;
      EXPECT_THROW(laboratory.measure(options), FailedError);
      EXPECT_FALSE(laboratory.device.state().is_held);
      EXPECT_NO_THROW(laboratory.session.queue().wait());
    }
  }
}

TEST(Session, InterruptionEndsAllConditions) {
  Laboratory laboratory;
  MeasureOptions options;
  bool sustained = false;
  options.progress = [&](const Progress& progress) {
    sustained = progress.conditions.load == Load::sustained;
  };
  options.interrupted = [&] { return sustained; };
  const Result result = laboratory.measure(options);
  ASSERT_EQ(result.measurements.size(), 3u);
  EXPECT_EQ(result.measurements[1].stop_reason, StopReason::precision);
  EXPECT_EQ(result.measurements[2].stop_reason, StopReason::interrupted);
}

TEST(Session, CallableIsMeasuredLikeAnOperation) {
  ScriptedDevice device;
  device.script().launch_time = [](const LaunchContext& context) {
    return context.index == 0 ? milliseconds(40) : microseconds(50);
  };
  int calls = 0;
  const Launch launch = [&](NativeQueue queue) {
    ++calls;
    launch_kernel(queue);
    launch_kernel(queue);
  };
  const Result result = measure(device, launch, kWarmBurst);
  EXPECT_GT(calls, 200);
  EXPECT_EQ(result.subject, Subject(Callable{"callable"}));
  EXPECT_EQ(result.measurements.front().conditions.data, std::nullopt) << "only the caller knows";
  EXPECT_GT(result.first_call, milliseconds(40));
  // Twice what the events' constant is known to (calibration.cpp).
  EXPECT_NEAR(result.measurements.front().time.median.value(), 100e3, 200);
}

TEST(Session, WhatIsAskedOfACallableIsDoneOrRefused) {
  ScriptedDevice device;
  MeasureOptions options = kWarmBurst;
  options.kernels = true;
  options.counters.emplace();
  options.placement = 3;
  const Result result = measure(device, launch_kernel, options);
  EXPECT_EQ(result.kernels.size(), 1u);
  EXPECT_TRUE(!result.counters.empty() || result.without_counters);
  EXPECT_EQ(result.measurements.front().conditions.placement, std::nullopt) << "nothing was placed";
  options.iterations = {10};
  EXPECT_THROW(measure(device, launch_kernel, options), UsageError);
}

TEST(Session, CallableIsLaunchedOnTheStreamOfItsOwner) {
  ScriptedDevice device;
  Stream stream;
  const Launch launch = [&](NativeQueue queue) {
    EXPECT_EQ(queue, &stream);
    launch_kernel(queue);
  };
  const Result result = measure(device, &stream, launch, kWarmBurst);
  EXPECT_NEAR(result.measurements.front().time.median.value(), 100e3, 200);
  EXPECT_EQ(stream.queue, nullptr) << "the queue is gone, the stream is its owner's";
}

TEST(Session, ASimulatedDeviceRunsNoCallable) {
  const auto device = open_device("virtual:h200");
  try {
    measure(
        *device, [](NativeQueue) {}, kWarmBurst);
    FAIL() << "it has a time";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("virtual:h200"));
    EXPECT_THAT(error.what(), testing::HasSubstr("open cpu or cuda:0"));
  }
}

TEST(Session, CallableMayThrowWhatItLikes) {
  ScriptedDevice device;
  int calls = 0;
  const Launch launch = [&](NativeQueue queue) {
    if (++calls == 30) throw std::out_of_range("from the callable");
    launch_kernel(queue);
  };
  EXPECT_THROW(measure(device, launch, kWarmBurst), std::out_of_range);
  EXPECT_FALSE(device.state().is_held);
}

// Another clock in each 30 ms.
std::function<Hertz(Nanoseconds)> wandering_clock(double lowest_megahertz, double span_megahertz) {
  return [=](Nanoseconds time) {
    Random random(static_cast<std::uint64_t>(time.value() / 30e6));
    return megahertz(lowest_megahertz + span_megahertz * random.uniform());
  };
}

// A fifth of the launch does not follow the clock.
Nanoseconds partly_clocked(const LaunchContext& context) {
  return microseconds(20.0 + 80.0 * 1980e6 / context.clock.value());
}

TEST(Session, TimeAtReferenceClockIsRecoveredWhereTheClockVaries) {
  Laboratory laboratory;
  laboratory.device.script().clock = wandering_clock(1800, 180);
  laboratory.device.script().launch_time = partly_clocked;
  MeasureOptions options = kWarmBurst;
  options.minimum_rounds = 30;
  const Measurement measurement = laboratory.measure(options).measurements.front();
  ASSERT_TRUE(measurement.at_reference_clock);
  const TimeAtReferenceClock& at_reference = *measurement.at_reference_clock;
  const double truth = 20e3 + 80e3 * 1980e6 / at_reference.reference.value();
  EXPECT_NEAR(at_reference.time.value() / truth, 1.0, 0.003);
  EXPECT_NEAR(at_reference.fixed_part.value(), 20e3, 4e3);
  EXPECT_NEAR(at_reference.clock_share, 0.8, 0.05);
  EXPECT_EQ(at_reference.reference, measurement.clock->median);
  ASSERT_TRUE(measurement.cycles);
}

// The clock that the user names is the same in both runs, whose own clocks differ.
TEST(Session, TimesAtAClockThatWasAskedForCompareAcrossRuns) {
  for (const double lowest : {1700.0, 1780.0}) {
    Laboratory laboratory;
    laboratory.device.script().clock = wandering_clock(lowest, 150);
    laboratory.device.script().launch_time = partly_clocked;
    MeasureOptions options = kWarmBurst;
    options.minimum_rounds = 30;
    options.reference_clock = megahertz(1820);
    const Measurement measurement = laboratory.measure(options).measurements.front();
    ASSERT_TRUE(measurement.at_reference_clock);
    const TimeAtReferenceClock& at_reference = *measurement.at_reference_clock;
    EXPECT_EQ(at_reference.reference, megahertz(1820));
    EXPECT_NEAR(at_reference.time.value() / (20e3 + 80e3 * 1980.0 / 1820.0), 1.0, 0.003);
    EXPECT_FALSE(at_reference.extrapolated);
  }
}

TEST(Session, AReferenceClockThatNoRoundWasNearIsExtrapolatedTo) {
  Laboratory laboratory;
  laboratory.device.script().clock = wandering_clock(1800, 180);
  laboratory.device.script().launch_time = partly_clocked;
  MeasureOptions options = kWarmBurst;
  options.minimum_rounds = 30;
  options.reference_clock = megahertz(1500);
  const Measurement measurement = laboratory.measure(options).measurements.front();
  ASSERT_TRUE(measurement.at_reference_clock);
  EXPECT_TRUE(measurement.at_reference_clock->extrapolated);
  options.reference_clock = Hertz(0);
  EXPECT_THROW(laboratory.measure(options), UsageError);
}

TEST(Session, TimeAtReferenceClockIsAbsentWhereTheClockStands) {
  Laboratory laboratory;
  laboratory.device.script().clock = [](Nanoseconds) { return megahertz(1980); };
  laboratory.device.script().launch_time = partly_clocked;
  const Measurement measurement = laboratory.measure(kWarmBurst).measurements.front();
  EXPECT_FALSE(measurement.at_reference_clock);
  ASSERT_TRUE(measurement.clock);
  EXPECT_NEAR(measurement.clock->median.value(), 1980e6, 1.0);
  ASSERT_TRUE(measurement.cycles);
  EXPECT_NEAR(measurement.cycles->value(), 198e3, 500);
}

TEST(Session, DeviceWithoutClockHasNone) {
  Laboratory laboratory;
  const Measurement measurement = laboratory.measure(kWarmBurst).measurements.front();
  EXPECT_FALSE(measurement.clock);
  EXPECT_FALSE(measurement.cycles);
}

// A power cap lowers the clock half a second after a load began, and lets it go two seconds after the load.
class HeldClock {
 public:
  Nanoseconds launch(const LaunchContext& context) {
    const bool rested = context.time - last_end_ > milliseconds(5);
    if (rested) busy_since_ = context.time;
    last_end_ = context.time + microseconds(100.0 * 1980e6 / clock(context.time).value());
    if (last_end_ - busy_since_ > seconds(0.5)) held_until_ = last_end_ + seconds(2);
    return last_end_ - context.time;
  }
  Hertz clock(Nanoseconds time) const { return time < held_until_ ? megahertz(1000) : megahertz(1980); }

 private:
  Nanoseconds busy_since_{-1e12}, last_end_{-1e12}, held_until_{-1e12};
};

// What a burst takes depends neither on loads that were asked for beside it, whatever their order, nor on the
// load of the operation before.
TEST(Session, BurstsAreThoseOfADeviceWithoutALoadBefore) {
  Laboratory laboratory;
  const auto held = std::make_shared<HeldClock>();
  laboratory.device.script().launch_time = [held](const LaunchContext& context) {
    return held->launch(context);
  };
  laboratory.device.script().clock = [held](Nanoseconds time) { return held->clock(time); };
  MeasureOptions options = kWarmBurst;
  options.loads = {Load::sustained, Load::burst};
  for (int operation = 0; operation < 3; ++operation) {
    const Result result = laboratory.measure(options);
    ASSERT_EQ(result.measurements.size(), 2u);
    EXPECT_EQ(result.measurements[0].conditions.load, Load::burst);
    EXPECT_NEAR(result.measurements[0].time.median.value(), 100e3, 500) << operation;
    EXPECT_FALSE(result.measurements[0].sleeping_clock) << "a clock that rises behind a load did not sleep";
    EXPECT_NEAR(result.measurements[1].time.median.value(), 198e3, 1000) << operation;
  }
}

}  // namespace
}  // namespace jitterscope::scripted
