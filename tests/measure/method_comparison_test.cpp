#include "measure/timing_methods.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Nanoseconds kLaunch = microseconds(100), kLaunchCost = microseconds(3);

// No noise and no grain, so that each method reads to the nanosecond what theory says.
Script noiseless_script() {
  Script script;
  script.events_noise = script.grain = Nanoseconds(0);
  script.launch_cost = [](std::int64_t index) { return index == 0 ? microseconds(50) : kLaunchCost; };
  script.launch_time = [](const LaunchContext& context) {
    if (context.index == 0) return microseconds(400);
    if (context.cache == CacheState::cold) return microseconds(150);
    return context.cache == CacheState::dirty ? microseconds(180) : kLaunch;
  };
  return script;
}

MethodsRequest traced_request() {
  MethodsRequest request;
  request.traced.times.assign(7, kLaunch);
  return request;
}

std::map<std::string, MethodReading> by_id(const MethodComparison& comparison) {
  std::map<std::string, MethodReading> readings;
  for (const MethodReading& reading : comparison.readings) readings.emplace(reading.id, reading);
  return readings;
}

TEST(Methods, EachReadsWhatTheoryPredicts) {
  Laboratory laboratory(noiseless_script());
  const Script& script = laboratory.device.script();
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), traced_request());
  ASSERT_EQ(comparison.launches, 40);
  const Nanoseconds queued = kLaunch + script.events_constant;
  // The first launch waits for the host's 50 us and takes 400; the queue holds the other nine.
  const Nanoseconds first_ten = (microseconds(450) + queued * 9.0) / 10.0;
  const std::map<std::string, Nanoseconds> expected = {
      {"wall_without_wait", kLaunchCost},
      {"wall_with_wait", kLaunchCost + kLaunch + script.wait_cost},
      {"events_empty_queue", kLaunchCost + kLaunch},  // the launch outlasts what a mark costs the device
      {"events_without_warm_up", first_ten},
      {"events_behind_gate", queued},
      {"events_less_constant", kLaunch},
      {"cold", microseconds(150)},
      {"dirty", microseconds(180)},
      {"graph_total", kLaunch + script.events_constant / 40.0},
      {"graph_slope", kLaunch},
      {"cupti", kLaunch}};
  ASSERT_EQ(comparison.readings.size(), expected.size());
  for (const MethodReading& reading : comparison.readings) {
    EXPECT_EQ(reading.times.size(), 7u) << reading.id << reading.absent;
    EXPECT_NEAR(reading.time().value(), expected.at(reading.id).value(), 0.01) << reading.id;
    EXPECT_NEAR(reading.range(), 0.0, 1e-6) << reading.id;
  }
}

TEST(Methods, SentencesStateTheNumbers) {
  Laboratory laboratory(noiseless_script());
  const auto readings = by_id(compare_methods(laboratory.session, some_operation(), traced_request()));
  const auto sentence = [&](const char* id) { return readings.at(id).sentence; };
  EXPECT_EQ(sentence("wall_without_wait"), "reads the host's launch cost, not the kernel: 3 µs each");
  EXPECT_EQ(sentence("wall_with_wait"), "adds 8 µs of launching and waiting (+8.0 % of this operation)");
  EXPECT_THAT(sentence("events_empty_queue"), StartsWith("adds 3 µs of event overhead and waiting"));
  EXPECT_THAT(sentence("events_without_warm_up"), StartsWith("adds 37 µs of what the first launches"));
  EXPECT_THAT(sentence("events_without_warm_up"), HasSubstr("the first call of this process took 455 µs"));
  EXPECT_EQ(sentence("events_behind_gate"), "adds 2 µs of event overhead (+2.0 % of this operation)");
  EXPECT_THAT(sentence("events_less_constant"), StartsWith("right within 1 ns"));
  EXPECT_THAT(sentence("cold"), HasSubstr("; against the warm time: +50.0 %"));
  EXPECT_THAT(sentence("dirty"), HasSubstr("; against the cold time: +20.0 %"));
  EXPECT_THAT(sentence("graph_total"), HasSubstr("hardly matters for an operation this long: +0.05 %"));
  EXPECT_THAT(sentence("graph_slope"), StartsWith("right within 1 ns"));
  EXPECT_THAT(sentence("cupti"), StartsWith("the reference: "));
}

TEST(Methods, WithoutATracerTheSlopeIsTheReference) {
  Laboratory laboratory(noiseless_script());
  MethodsRequest request;
  request.traced.problem = "no CUPTI here";
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), request);
  EXPECT_EQ(comparison.reference, "graph_slope");
  EXPECT_EQ(by_id(comparison).at("cupti").absent, "no CUPTI here");
  EXPECT_EQ(by_id(comparison).at("graph_slope").sentence,
            "the reference here; the others are compared with it");
}

TEST(Methods, OnlyTheSameCacheStateIsCompared) {
  Laboratory laboratory(noiseless_script());
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), traced_request());
  const auto readings = by_id(comparison);
  EXPECT_FALSE(distance_from_reference(comparison, readings.at("cold")));
  EXPECT_FALSE(distance_from_reference(comparison, readings.at("dirty")));
  const auto distance = distance_from_reference(comparison, readings.at("wall_with_wait"));
  ASSERT_TRUE(distance);
  EXPECT_NEAR(distance->time.value(), 8000, 0.01);
  EXPECT_NEAR(distance->ratio, 0.08, 1e-6);
}

TEST(Methods, RepetitionsAreInterleavedInRandomOrderAfterRandomIdles) {
  Laboratory laboratory(noiseless_script());
  laboratory.device.log().clear();
  std::vector<std::vector<std::string>> orders(3);
  MethodsRequest request = traced_request();
  request.repetitions = 3;
  request.progress = [&](std::int64_t repetition, const std::string& method) {
    orders.at(static_cast<std::size_t>(repetition - 1)).push_back(method);
  };
  compare_methods(laboratory.session, some_operation(), request);
  for (const auto& order : orders) EXPECT_EQ(std::set(order.begin(), order.end()).size(), 10u);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  std::set<double> idles;
  int seconds_of_idle = 0;
  for (const LoggedCall& call : laboratory.device.log()) {
    if (call.call != Call::idle) continue;
    if (call.amount == seconds(1)) {
      ++seconds_of_idle;
      continue;
    }
    EXPECT_GE(call.amount, MeasureOptions().shortest_idle);
    EXPECT_LE(call.amount, MeasureOptions().longest_idle);
    idles.insert(call.amount.value());
  }
  EXPECT_EQ(idles.size(), 30u);
  EXPECT_EQ(seconds_of_idle, 3);
}

TEST(Methods, InterruptionKeepsWhatThereIs) {
  Laboratory laboratory(noiseless_script());
  MethodsRequest request = traced_request();
  int methods = 0;
  request.progress = [&](auto, auto&) { ++methods; };
  request.options.interrupted = [&] { return methods > 4; };
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), request);
  EXPECT_TRUE(comparison.interrupted);
  std::size_t timed = 0;
  for (const MethodReading& reading : comparison.readings) {
    if (reading.times.empty()) {
      EXPECT_EQ(reading.absent, "interrupted before its first repetition");
    }
    if (reading.id != "cupti") timed += reading.times.size();
  }
  EXPECT_EQ(timed, 4u);  // the fifth's idle was cut short
}

TEST(Methods, WhatCannotBeRecordedSaysSo) {
  Laboratory laboratory(noiseless_script());
  laboratory.device.script().can_record = false;
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), MethodsRequest());
  EXPECT_EQ(comparison.reference, "events_less_constant");
  for (const char* id : {"graph_total", "graph_slope"}) {
    EXPECT_TRUE(by_id(comparison).at(id).times.empty());
    EXPECT_THAT(by_id(comparison).at(id).absent, HasSubstr("does not let this be recorded"));
  }
  EXPECT_EQ(by_id(comparison).at("wall_with_wait").times.size(), 7u);
}

TEST(Methods, AFailureKeepsTheRepetitionsBefore) {
  Laboratory laboratory(noiseless_script());
  // A repetition replays five times: three times for the slope, one of them untimed, and twice for the other.
  laboratory.device.script().failure =
      Failure{Call::replay, laboratory.device.state().counts[Call::replay] + 8};
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), traced_request());
  std::vector<std::string> failed;
  for (const MethodReading& reading : comparison.readings) {
    if (reading.absent.empty()) continue;
    failed.push_back(reading.id);
    EXPECT_EQ(reading.absent, "the script fails here");
    EXPECT_EQ(reading.times.size(), 1u) << reading.id;
  }
  EXPECT_EQ(failed.size(), 1u);
}

TEST(Methods, LongOperationsAreLaunchedSeldom) {
  Script script = noiseless_script();
  script.launch_time = [](const auto&) { return milliseconds(400); };
  Laboratory laboratory(script);
  const Nanoseconds start = laboratory.device.host_time();
  MethodsRequest request;
  request.repetitions = 1;
  const MethodComparison comparison = compare_methods(laboratory.session, some_operation(), request);
  EXPECT_EQ(comparison.launches, 1);
  EXPECT_NEAR(by_id(comparison).at("graph_slope").time().value(), 400e6, 1);
  EXPECT_LT(laboratory.device.host_time() - start, seconds(20));
}

TEST(Methods, TheTracerGivesATimePerRepetition) {
  ScriptedDevice device(noiseless_script());
  const std::vector<Nanoseconds> times = trace_operation(device, some_operation(), MeasureOptions(), 5);
  ASSERT_EQ(times.size(), 5u);
  for (const Nanoseconds time : times) EXPECT_NEAR(time.value(), kLaunch.value(), 0.01);
}

}  // namespace
}  // namespace jitterscope::scripted
