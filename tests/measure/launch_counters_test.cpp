#include "measure/launch_details.hpp"

#include <gmock/gmock.h>

#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

const Operation kCountedAdd = Operation::parse("add:count=1024");

Result measure_counting(Laboratory& laboratory, const std::vector<std::string>& names) {
  MeasureOptions options;
  options.caches = {CacheState::warm, CacheState::cold};
  options.loads = {Load::burst};
  options.counters = names;
  return measure_operation(laboratory.session, kCountedAdd, options, false);
}

TEST(LaunchCounters, OneLaunchIsCountedInEachCacheStateThatWasTimed) {
  Laboratory laboratory;
  laboratory.device.script().counter_passes = 3;
  const Result result = measure_counting(laboratory, {});
  ASSERT_EQ(result.counters.size(), 2u);
  EXPECT_EQ(result.counters[0].cache, CacheState::warm);
  EXPECT_EQ(result.counters[1].cache, CacheState::cold);
  for (const LaunchCounters& counters : result.counters) {
    EXPECT_EQ(counters.reading.passes, 3);
    EXPECT_EQ(counters.reading.values.at(0).value, 3.0) << "one for each pass";
  }
  EXPECT_FALSE(result.without_counters.has_value());
}

// As the launches that are timed: after launches, behind an eviction where cold is asked for, and alone.
TEST(LaunchCounters, EachPassBeginsInItsCacheState) {
  Laboratory laboratory;
  laboratory.device.script().counter_passes = 2;
  const auto prepared = laboratory.device.prepare(kCountedAdd, {});
  laboratory.device.log().clear();
  count_launch(laboratory.device, laboratory.session.queue(), *prepared, {},
               {CacheState::warm, CacheState::cold});
  std::vector<Call> pass = {Call::launch, Call::launch, Call::set_cache,
                            Call::wait,   Call::launch, Call::wait};
  std::vector<Call> expected;
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), pass.begin(), pass.end());
  EXPECT_EQ(laboratory.device.queue_calls(), expected);
  std::vector<CacheState> states;
  for (const LoggedCall& call : laboratory.device.log()) {
    if (call.call == Call::set_cache) states.push_back(call.cache);
  }
  EXPECT_THAT(states,
              testing::ElementsAre(CacheState::warm, CacheState::warm, CacheState::cold, CacheState::cold));
}

TEST(LaunchCounters, ACacheStateIsCountedOnceUnderHoweverManyLoads) {
  Result result;
  for (const Load load : {Load::burst, Load::sustained}) {
    for (const CacheState cache : {CacheState::cold, CacheState::warm}) {
      result.measurements.emplace_back();
      result.measurements.back().conditions.cache = cache;
      result.measurements.back().conditions.load = load;
    }
  }
  EXPECT_THAT(timed_caches(result), testing::ElementsAre(CacheState::cold, CacheState::warm));
}

TEST(LaunchCounters, WhatWasInterruptedBeforeItsFirstRoundIsNotCounted) {
  Laboratory laboratory;
  laboratory.device.script().can_count = false;
  const auto prepared = laboratory.device.prepare(kCountedAdd, {});
  EXPECT_TRUE(count_launch(laboratory.device, laboratory.session.queue(), *prepared, {}, {}).empty());
}

TEST(LaunchCounters, ARefusalCostsNoTimes) {
  Laboratory laboratory;
  laboratory.device.script().can_count = false;
  const Result result = measure_counting(laboratory, {});
  ASSERT_EQ(result.measurements.size(), 2u);
  EXPECT_GE(result.measurements[0].time.rounds, 10);
  EXPECT_TRUE(result.counters.empty());
  ASSERT_TRUE(result.without_counters.has_value());
  EXPECT_EQ(result.without_counters->exit_code, ExitCode::missing);
  EXPECT_EQ(result.without_counters->reason, "the script lets nobody count");
}

TEST(LaunchCounters, NeitherDoesANameThatShowsOnlyThen) {
  Laboratory laboratory;
  const Result result = measure_counting(laboratory, {"nonsense"});
  EXPECT_EQ(result.measurements.size(), 2u);
  ASSERT_TRUE(result.without_counters.has_value());
  EXPECT_EQ(result.without_counters->exit_code, ExitCode::usage);
}

TEST(LaunchCounters, ComeAfterTheTimesAndOnlyWhereTheyAreAskedFor) {
  Laboratory with, without;
  const Result counted = measure_counting(with, {});
  MeasureOptions options;
  options.caches = {CacheState::warm, CacheState::cold};
  options.loads = {Load::burst};
  const Result plain = measure_operation(without.session, kCountedAdd, options, false);
  EXPECT_TRUE(plain.counters.empty());
  EXPECT_FALSE(plain.without_counters.has_value());
  for (std::size_t i = 0; i < plain.measurements.size(); ++i) {
    EXPECT_EQ(counted.measurements[i].time.median, plain.measurements[i].time.median);
  }
}

}  // namespace
}  // namespace jitterscope::scripted
