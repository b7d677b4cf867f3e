// Callables of a program: recorded by whoever owns their memory, or timed by what is possible.
#include "measure/callable.hpp"

#include <gmock/gmock.h>

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

CallableOutcome measure_one(Laboratory& laboratory, const CallableWork& work, const MeasureOptions& options) {
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
  const CallableOutcome outcome = measure_one(laboratory, work, options);
  EXPECT_EQ(recordings, 1);
  EXPECT_LT(launches, 70);  // of the first calls and of conditioning, but not the hundreds of a recording
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
    const CallableOutcome outcome = measure_one(laboratory, work, options);
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
  EXPECT_THROW(measure_one(laboratory, {.name = "mine", .launch = fail_from_the_tenth}, kWarm), FailedError);
  EXPECT_FALSE(laboratory.device.state().gate_is_closed);
  // Nothing is left of it for the next one.
  EXPECT_NO_THROW(measure_one(laboratory, {.name = "other", .launch = launch_kernel}, kWarm));
}

TEST(Callable, WorkOnAnotherStreamIsWaitedForAndNamed) {
  Laboratory laboratory;
  const CallableWork work{.name = "mine", .launch = launch_kernel};
  EXPECT_THAT(measure_one(laboratory, work, kWarm).notes, IsEmpty());
  laboratory.device.script().left_elsewhere = microseconds(200);
  const CallableOutcome outcome = measure_one(laboratory, work, kWarm);
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("another stream")));
  EXPECT_TRUE(outcome.result.waits_for_device);
  EXPECT_EQ(outcome.result.measurements.front().conditions.queue, QueueMode::eager);
}

TEST(Callable, OneThatLaunchesNothingIsNamedAndHasTheTimeOfTheHost) {
  Laboratory laboratory;
  const auto works_by_itself = [&](NativeQueue) { laboratory.device.state().advance(microseconds(130)); };
  const CallableOutcome outcome = measure_one(laboratory, {.name = "mine", .launch = works_by_itself}, kWarm);
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
  const CallableOutcome outcome = measure_one(laboratory, {.name = "mine", .launch = counted}, kWarm);
  EXPECT_NEAR(outcome.result.measurements.front().time.median / seconds(10), 1.0, 1e-3);
  EXPECT_LE(launches, 10);
}

TEST(Callable, SeveralAreTimedBesideEachOther) {
  Laboratory laboratory;
  const std::vector<CallableWork> works = {{.name = "first", .launch = launch_kernel},
                                           {.name = "second", .launch = launch_kernel}};
  const std::vector<CallableOutcome> outcomes = measure_callables(laboratory.session, works, kWarm);
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
