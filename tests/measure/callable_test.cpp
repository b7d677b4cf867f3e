// Callables of a program: recorded by whoever owns their memory, or timed by what is possible.
#include "measure/callable.hpp"

#include <gmock/gmock.h>

#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Script short_kernels() {
  Script script;
  script.launch_time = [](const auto&) { return microseconds(5); };
  return script;
}

std::vector<Outcome> measure_callables(Session& session, const std::vector<CallableWork>& callables,
                                       const MeasureOptions& options) {
  std::vector<Trial> group;
  for (const CallableWork& callable : callables) group.push_back({TrialSubject(callable), options});
  std::vector<Outcome> outcomes = measure_trials(session, {group}, false);
  for (const Outcome& outcome : outcomes) {
    if (outcome.error) throw *outcome.error;
  }
  return outcomes;
}

Outcome measure_one(Laboratory& laboratory, const CallableWork& work, const MeasureOptions& options) {
  return measure_callables(laboratory.session, {work}, options).front();
}

const MeasureOptions kWarm = one_condition(CacheState::warm, Load::burst);

TEST(Callable, ItsOwnGraphIsRecordedOnceAndStandsForItsLaunches) {
  Laboratory laboratory(short_kernels());
  int launches = 0, recordings = 0, graph = 0;
  const CallableWork work{.name = "mine",
                          .launch =
                              [&](NativeQueue queue) {
                                ++launches;
                                launch_kernel(queue);
                              },
                          .record =
                              [&](NativeQueue) {
                                ++recordings;
                                return static_cast<NativeGraph>(&graph);
                              }};
  MeasureOptions options = kWarm;
  options.queue = QueueMode::graph;
  const Outcome outcome = measure_one(laboratory, work, options);
  EXPECT_EQ(recordings, 1);
  // Those of the first calls and of conditioning, and 400 that show whether it works on another stream; not
  // the 1,600 of a recording.
  EXPECT_LT(launches, 500);
  EXPECT_EQ(outcome.result.measurements.front().instrument, Instrument::graph);
  EXPECT_NEAR(outcome.result.measurements.front().time.median.value(), 5'000, 100);
  EXPECT_EQ(outcome.result.measurements.front().conditions.queue, QueueMode::graph);
  EXPECT_THAT(outcome.notes, IsEmpty());
}

TEST(Callable, WhatCannotBeRecordedIsLaunchedAndSaysWhy) {
  for (const QueueMode queue : {QueueMode::saturated, QueueMode::graph}) {
    Laboratory laboratory(short_kernels());
    const CallableWork work{
        .name = "mine", .launch = launch_kernel, .record = [](NativeQueue) -> NativeGraph {
          throw FailedError("it draws random numbers");
        }};
    MeasureOptions options = kWarm;
    options.queue = queue;
    const Outcome outcome = measure_one(laboratory, work, options);
    EXPECT_EQ(outcome.result.measurements.front().instrument, Instrument::events);
    EXPECT_EQ(outcome.result.measurements.front().conditions.queue, QueueMode::saturated);
    EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("cannot be recorded: it draws random numbers.")));
  }
}

TEST(Callable, WhatFailsAsItIsLaunchedFails) {
  Laboratory laboratory(short_kernels());
  int launches = 0;
  const auto fail_from_the_tenth = [&](NativeQueue queue) {
    if (++launches >= 10) throw FailedError("the tenth");
    launch_kernel(queue);
  };
  EXPECT_THROW(measure_one(laboratory, {.name = "mine", .launch = fail_from_the_tenth}, kWarm), Error);
  EXPECT_FALSE(laboratory.device.state().is_held);
  // Nothing is left of it for the next one.
  EXPECT_NO_THROW(measure_one(laboratory, {.name = "other", .launch = launch_kernel}, kWarm));
}

TEST(Callable, WorkOnAnotherStreamIsWaitedForAndNamed) {
  Laboratory laboratory;
  const CallableWork work{.name = "mine", .launch = launch_kernel};
  EXPECT_THAT(measure_one(laboratory, work, kWarm).notes, IsEmpty());
  laboratory.device.script().left_elsewhere = microseconds(200);
  const Outcome outcome = measure_one(laboratory, work, kWarm);
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("another stream")));
  EXPECT_TRUE(outcome.result.waits_for_device);
  EXPECT_EQ(outcome.result.measurements.front().conditions.queue, QueueMode::eager);
}

// Hosts were seen that need tens of microseconds to notice the end of work, each time.
TEST(Callable, ASlowWaitBehindItsWorkIsNoOtherStream) {
  for (const double kernel : {25.0, 180.0, 4'000.0}) {
    Script script;
    script.launch_time = [kernel](const auto&) { return microseconds(kernel); };
    Laboratory laboratory(script);
    laboratory.device.script().wait_behind_work = microseconds(60);
    const Outcome outcome = measure_one(laboratory, {.name = "mine", .launch = launch_kernel}, kWarm);
    EXPECT_THAT(outcome.notes, IsEmpty()) << kernel;
    EXPECT_EQ(outcome.result.measurements.front().conditions.queue, QueueMode::saturated);
  }
}

Script with_a_slow_call_in_five() {
  Script script;
  script.launch_time = [](const LaunchContext& launch) {
    return launch.index % 5 == 4 && launch.operation == nullptr ? milliseconds(12) : milliseconds(2);
  };
  return script;
}

// Two untimed and three timed launches make five: every slow call would be an untimed one, or every one a
// timed one.
TEST(Callable, RoundsDoNotFallIntoStepWithWorkThatRecurs) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    Laboratory laboratory(with_a_slow_call_in_five());
    MeasureOptions options = kWarm;
    options.seed = seed;
    options.time_limit = seconds(4);
    const Outcome outcome = measure_one(laboratory, {.name = "mine", .launch = launch_kernel}, options);
    const Measurement& measurement = outcome.result.measurements.front();
    ASSERT_TRUE(measurement.recurrence) << seed;
    EXPECT_EQ(measurement.recurrence->period, 5);
    EXPECT_EQ(measurement.recurrence->slow, 1);
    EXPECT_NEAR(measurement.recurrence->slow_time.value(), 12e6, 1e4);
    EXPECT_NEAR(measurement.launches.mean.value(), 4e6, 0.8e6) << seed;
  }
}

TEST(Callable, UntimedCallsAreWatchedAndCountedWithTheTimedOnes) {
  Laboratory laboratory(with_a_slow_call_in_five());
  const Outcome outcome = measure_one(laboratory, {.name = "mine", .launch = launch_kernel}, kWarm);
  std::vector<std::size_t> lengths;
  for (const Round& round : outcome.result.measurements.front().rounds) {
    ASSERT_GT(round.calls.size(), round.launches.size());
    const std::size_t untimed = round.calls.size() - round.launches.size();
    lengths.push_back(untimed);
    EXPECT_TRUE(std::equal(round.launches.begin(), round.launches.end(), round.calls.begin() + untimed));
    for (std::size_t i = 0; i < round.calls.size(); ++i) {
      const bool is_slow = (round.first_call + static_cast<std::int64_t>(i)) % 5 == 4;
      EXPECT_EQ(round.calls[i] > milliseconds(7), is_slow);
    }
  }
  EXPECT_NE(*std::ranges::min_element(lengths), *std::ranges::max_element(lengths));
}

TEST(Callable, AnOperationsRoundsAreAsLongAsEachOther) {
  Laboratory laboratory(with_a_slow_call_in_five());
  const Result result = laboratory.measure(kWarm);
  for (const Round& round : result.measurements.front().rounds) EXPECT_TRUE(round.calls.empty());
  EXPECT_FALSE(result.measurements.front().recurrence);
}

Script script_of_a_gpu() {
  Script script;
  script.can_limit_hold = true;
  return script;
}

// A launch that loads a kernel waits for the device, so behind a closed gate until that gives up.
TEST(Callable, AKernelThatIsLoadedLateCostsARoundAndNotTheMeasurement) {
  Laboratory laboratory(script_of_a_gpu());
  int calls = 0;
  const auto loads_at_the_sixtieth = [&](NativeQueue queue) {
    if (++calls == 60) wait_for_queue(queue);
    launch_kernel(queue);
  };
  const Nanoseconds began = laboratory.device.host_time();
  const Result result =
      measure_one(laboratory, {.name = "mine", .launch = loads_at_the_sixtieth}, kWarm).result;
  EXPECT_LT(laboratory.device.host_time() - began, seconds(5));
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.lost_rounds, 1);
  EXPECT_FALSE(result.waits_for_device);
  EXPECT_EQ(measurement.conditions.queue, QueueMode::saturated);
  EXPECT_NEAR(measurement.time.median.value(), 100e3, 300);
  EXPECT_GE(measurement.time.rounds, 6);
}

TEST(Callable, OneThatBeginsToWaitLaterOnIsMeasuredAsOneThatWaits) {
  Laboratory laboratory(script_of_a_gpu());
  int calls = 0;
  const auto waits_from_the_sixtieth = [&](NativeQueue queue) {
    if (++calls >= 60) wait_for_queue(queue);
    launch_kernel(queue);
  };
  const Result result =
      measure_one(laboratory, {.name = "mine", .launch = waits_from_the_sixtieth}, kWarm).result;
  EXPECT_TRUE(result.waits_for_device);
  EXPECT_EQ(result.measurements.front().conditions.queue, QueueMode::eager);
  EXPECT_EQ(result.measurements.front().lost_rounds, 0);
}

TEST(Callable, OneThatLaunchesNothingIsNamedAndHasTheTimeOfTheHost) {
  Laboratory laboratory;
  const auto works_by_itself = [&](NativeQueue) { laboratory.device.state().advance(microseconds(130)); };
  const Outcome outcome = measure_one(laboratory, {.name = "mine", .launch = works_by_itself}, kWarm);
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("launched nothing")));
  EXPECT_TRUE(outcome.result.waits_for_device);
  EXPECT_NEAR(outcome.result.measurements.front().time.median.value(), 130'000, 3'000);
}

TEST(Callable, OneOfTenSecondsIsLaunchedAFewTimesAndHasATime) {
  Script script;
  script.launch_time = [](const auto&) { return seconds(10); };
  Laboratory laboratory(script);
  int launches = 0;
  const auto counted = [&](NativeQueue queue) {
    ++launches;
    launch_kernel(queue);
  };
  const Outcome outcome = measure_one(laboratory, {.name = "mine", .launch = counted}, kWarm);
  EXPECT_NEAR(outcome.result.measurements.front().time.median / seconds(10), 1.0, 1e-3);
  EXPECT_LE(launches, 10);
}

TEST(Callable, SeveralAreTimedBesideEachOther) {
  Laboratory laboratory;
  const std::vector<CallableWork> works = {{.name = "first", .launch = launch_kernel},
                                           {.name = "second", .launch = launch_kernel}};
  const std::vector<Outcome> outcomes = measure_callables(laboratory.session, works, kWarm);
  ASSERT_EQ(outcomes.size(), 2u);
  const std::vector<Round>& first = outcomes[0].result.measurements.front().rounds;
  const std::vector<Round>& second = outcomes[1].result.measurements.front().rounds;
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(first.back().block, second.back().block);
}

TEST(Callable, KernelsOfOneLaunchAreTraced) {
  Laboratory laboratory;
  MeasureOptions options = kWarm;
  options.kernels = true;
  const CallableWork work{.name = "mine", .launch = launch_kernel};
  EXPECT_EQ(measure_one(laboratory, work, options).result.kernels.size(), 1u);
}

}  // namespace
}  // namespace jitterscope::scripted
