// Trials that are compared: their rounds lie beside each other, and what ends them is their ratio.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "measure/estimate.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"
#include "support/scripted_queue.hpp"

namespace jitterscope::scripted {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

Operation sum_of(std::int64_t count, DataType dtype = DataType::f32) {
  return Operation(Elementwise{.kind = ElementwiseKind::add, .count = count, .dtype = dtype});
}

std::int64_t count_in(const LaunchContext& context) {
  const auto* add = context.operation ? std::get_if<Elementwise>(&context.operation->parameters()) : nullptr;
  return add ? add->count : 1000;
}

Script element_times() {
  Script script;
  script.launch_time = [](const LaunchContext& context) {
    return Nanoseconds(100.0 * static_cast<double>(count_in(context)));
  };
  return script;
}

MeasureOptions warm_bursts() { return one_condition(CacheState::warm, Load::burst); }

std::vector<Trial> group_of(const std::vector<Operation>& operations, const MeasureOptions& options) {
  std::vector<Trial> group;
  for (const Operation& operation : operations) group.push_back({operation, options});
  return group;
}

std::vector<Outcome> measure_groups(Laboratory& laboratory, const std::vector<std::vector<Trial>>& groups) {
  laboratory.device.log().clear();
  return measure_trials(laboratory.session, groups, false);
}

const std::vector<Round>& rounds_of(const Outcome& outcome, std::size_t measurement = 0) {
  return outcome.result.measurements.at(measurement).rounds;
}

std::map<std::int64_t, int> rounds_in_blocks(const std::vector<Round>& rounds) {
  std::map<std::int64_t, int> counts;
  for (const Round& round : rounds) ++counts[round.block];
  return counts;
}

// The number of an idle, which all rounds behind it share, makes its rounds slow or fast.
void let_blocks_differ(ScriptedDevice& device, double deviation) {
  device.script().launch_time = [&device, deviation](const LaunchContext& context) {
    Random random(static_cast<std::uint64_t>(device.state().counts[Call::idle]));
    return Nanoseconds(100.0 * static_cast<double>(count_in(context)) * (1.0 + deviation * random.uniform()));
  };
}

TEST(PairedGroups, EveryBlockHasRoundsOfAllTrials) {
  Laboratory laboratory(element_times());
  MeasureOptions options = warm_bursts();
  options.caches = {CacheState::warm, CacheState::cold};
  const std::vector<std::vector<Trial>> groups = {
      group_of({sum_of(1000), sum_of(1010), sum_of(2000)}, options),
      group_of({sum_of(3000), sum_of(3030)}, options)};
  const std::vector<Outcome> outcomes = measure_groups(laboratory, groups);
  ASSERT_EQ(outcomes.size(), 5u);
  for (const std::size_t first : {0u, 3u}) {
    const auto expected = rounds_in_blocks(rounds_of(outcomes[first]));
    EXPECT_GE(expected.size(), 10u);
    for (std::size_t trial = first; trial < (first == 0 ? 3u : 5u); ++trial) {
      EXPECT_EQ(rounds_in_blocks(rounds_of(outcomes[trial], 0)), expected) << trial;
      EXPECT_EQ(rounds_in_blocks(rounds_of(outcomes[trial], 1)), expected) << trial;
    }
  }
}

TEST(PairedGroups, TheOrderWithinABlockVaries) {
  Laboratory laboratory(element_times());
  MeasureOptions options = warm_bursts();
  options.minimum_rounds = 60;
  const auto outcomes =
      measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010), sum_of(1020)}, options)});
  std::map<std::int64_t, std::map<double, std::size_t>> starts;  // of a block: who started when
  for (std::size_t trial = 0; trial < outcomes.size(); ++trial) {
    for (const Round& round : rounds_of(outcomes[trial])) starts[round.block][round.started.value()] = trial;
  }
  std::map<std::vector<std::size_t>, int> orders;
  for (const auto& [block, order] : starts) {
    std::vector<std::size_t> trials;
    for (const auto& [time, trial] : order) trials.push_back(trial);
    ++orders[trials];
  }
  EXPECT_EQ(starts.size(), 60u);
  ASSERT_EQ(orders.size(), 6u);  // all that there are of three
  for (const auto& [order, times] : orders) EXPECT_THAT(times, AllOf(Ge(3), Le(22)));
}

TEST(PairedGroups, OnlyTheFirstRoundOfABlockLiesBehindItsIdle) {
  Laboratory laboratory(element_times());
  const auto outcomes = measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010)}, warm_bursts())});
  std::map<std::int64_t, int> behind_an_idle;
  for (const Outcome& outcome : outcomes) {
    for (const Round& round : rounds_of(outcome)) {
      behind_an_idle[round.block] += round.idle_before > Nanoseconds(0) ? 1 : 0;
    }
  }
  for (const auto& [block, count] : behind_an_idle) EXPECT_EQ(count, 1) << block;
}

// A launch of 50 ms is a round, and longer than the mean idle.
TEST(PairedGroups, LongRoundsHaveAnIdleEach) {
  Laboratory laboratory(element_times());
  const auto outcomes =
      measure_groups(laboratory, {group_of({sum_of(500'000), sum_of(500'001)}, warm_bursts())});
  for (const Outcome& outcome : outcomes) {
    for (const Round& round : rounds_of(outcome)) EXPECT_GT(round.idle_before, Nanoseconds(0));
  }
}

// Power that the others draw behind the same idle would lower the clock.
TEST(PairedGroups, MoreHeavyOnesLeaveTheFirstItsTime) {
  const auto device = open_device("virtual:h200");
  const Operation light = Operation::parse("conv2d:n=32,c=512,hw=14,k=512,rs=3,pad=1,dtype=tf32");
  const Operation heavy = Operation::parse("conv2d:n=512,c=512,hw=14,k=512,rs=3,pad=1,dtype=tf32");
  const auto time_of_light = [&](std::size_t heavy_ones) {
    Session session(*device);
    std::vector<Operation> operations(1 + heavy_ones, heavy);
    operations.front() = light;
    const auto outcomes = measure_trials(session, {group_of(operations, warm_bursts())}, false);
    return outcomes.front().result.measurements.front().time.median;
  };
  EXPECT_NEAR(time_of_light(5) / time_of_light(1), 1.0, 0.005);
}

TEST(PairedGroups, APairGoesOnWhileItsRatioIsNotPrecise) {
  Laboratory laboratory(element_times());
  // One of the two varies from round to round; alone, the other would stop at the least number.
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    Random random(static_cast<std::uint64_t>(context.time.value() / 30e6));
    const double noise = count_in(context) == 1010 ? 0.02 * random.normal() : 0.0;
    return Nanoseconds(100.0 * static_cast<double>(count_in(context)) * (1.0 + noise));
  };
  MeasureOptions options = warm_bursts();
  options.precision = 0.004;
  options.time_limit = seconds(60);
  const auto outcomes = measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010)}, options)});
  const Measurement &first = outcomes[0].result.measurements[0], &second = outcomes[1].result.measurements[0];
  EXPECT_THAT(first.rounds.size(), AllOf(Gt(20u), Le(400u)));
  EXPECT_EQ(first.rounds.size(), second.rounds.size());
  EXPECT_EQ(first.stop_reason, StopReason::precision);
  EXPECT_EQ(second.stop_reason, StopReason::precision);
  EXPECT_TRUE(may_stop_paired(first, second, options.precision));
}

TEST(PairedGroups, APairEndsWhenItsRatioIsPreciseThoughItsTimesAreNot) {
  Laboratory laboratory(element_times());
  let_blocks_differ(laboratory.device, 0.2);
  const auto outcomes = measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010)}, warm_bursts())});
  for (const Outcome& outcome : outcomes) {
    const Measurement& measurement = outcome.result.measurements.at(0);
    EXPECT_EQ(measurement.rounds.size(), 10u);
    EXPECT_EQ(measurement.stop_reason, StopReason::precision);
    EXPECT_GT(measurement.repeatability.precision(), 0.01);
  }
  Laboratory alone(element_times());
  let_blocks_differ(alone.device, 0.2);
  MeasureOptions options = warm_bursts();
  options.time_limit = seconds(1);
  const auto each =
      measure_groups(alone, {group_of({sum_of(1000)}, options), group_of({sum_of(1010)}, options)});
  for (const Outcome& outcome : each) {
    EXPECT_EQ(outcome.result.measurements.at(0).stop_reason, StopReason::time_limit);
  }
}

TEST(PairedGroups, TheTimeLimitIsThatOfEachTrial) {
  Laboratory laboratory(element_times());
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    Random random(static_cast<std::uint64_t>(context.time.value() / 30e6));
    return Nanoseconds(100.0 * static_cast<double>(count_in(context)) * (1.0 + 0.3 * random.uniform()));
  };
  MeasureOptions options = warm_bursts();
  options.time_limit = seconds(1);
  const auto outcomes =
      measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010), sum_of(1020)}, options)});
  for (const Outcome& outcome : outcomes) {
    const Measurement& measurement = outcome.result.measurements.at(0);
    EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
    EXPECT_THAT(measurement.duration, AllOf(Ge(seconds(3)), Le(seconds(3.2))));
  }
}

std::set<Instrument> instruments_of(const std::vector<Outcome>& outcomes, CacheState cache) {
  std::set<Instrument> instruments;
  for (const Outcome& outcome : outcomes) {
    for (const Measurement& measurement : outcome.result.measurements) {
      if (measurement.conditions.cache == cache) instruments.insert(measurement.instrument);
    }
  }
  return instruments;
}

TEST(PairedGroups, ShortAndLongLaunchesAreReadByOneInstrument) {
  const std::set slopes{Instrument::graph}, events{Instrument::events};
  const std::vector<Operation> unlike = {sum_of(100), sum_of(1000)};  // 10 and 100 us
  Laboratory apart(element_times());
  const auto alone =
      measure_groups(apart, {group_of({unlike[0]}, warm_bursts()), group_of({unlike[1]}, warm_bursts())});
  EXPECT_EQ(alone[0].result.measurements.at(0).instrument, Instrument::graph);
  EXPECT_EQ(alone[1].result.measurements.at(0).instrument, Instrument::events);
  for (const bool is_reversed : {false, true}) {
    Laboratory laboratory(element_times());
    std::vector<Operation> operations = unlike;
    if (is_reversed) std::ranges::reverse(operations);
    const auto paired = measure_groups(laboratory, {group_of(operations, warm_bursts())});
    EXPECT_EQ(instruments_of(paired, CacheState::warm), slopes);
  }
  Laboratory without(element_times());
  without.device.script().can_record = false;  // the calibration could
  EXPECT_EQ(instruments_of(measure_groups(without, {group_of(unlike, warm_bursts())}), CacheState::warm),
            events);
}

TEST(PairedGroups, AnInstrumentThatWasAskedForIsKept) {
  Laboratory laboratory(element_times());
  MeasureOptions by_events = warm_bursts(), by_host = warm_bursts();
  by_events.instrument = Instrument::events;
  by_host.instrument = Instrument::host;
  const auto outcomes = measure_groups(laboratory, {{{sum_of(1000), by_events}, {sum_of(1000), by_host}}});
  EXPECT_EQ(outcomes[0].result.measurements.at(0).instrument, Instrument::events);
  EXPECT_EQ(outcomes[1].result.measurements.at(0).instrument, Instrument::host);
}

TEST(PairedGroups, QueuesThatAreComparedStayWhatTheyAre) {
  Laboratory laboratory(element_times());
  MeasureOptions eager = warm_bursts(), graph = warm_bursts();
  eager.queue = QueueMode::eager;
  graph.queue = QueueMode::graph;
  const auto outcomes = measure_groups(
      laboratory, {{{sum_of(100), eager}, {sum_of(100), graph}, {sum_of(100), warm_bursts()}}});
  const std::vector expected = {Instrument::events, Instrument::graph, Instrument::graph};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(outcomes[i].result.measurements.at(0).instrument, expected[i]) << i;
  }
}

// An operation that counts how often it is moved, and that perhaps cannot be recorded.
class WatchedWorkload final : public Workload {
 public:
  WatchedWorkload(ScriptedDevice& device, std::int64_t count)
      : device_(device), operation_(device.prepare(sum_of(count), InputData())) {}

  void run(NativeQueue queue) override {
    // A launch that no queue was asked for is part of a recording.
    const std::int64_t launches = device_.state().counts[Call::launch];
    if (refusal && launches == last_launch_) refusal();
    last_launch_ = launches;
    operation_->run(queue);
  }
  bool place_anew() override {
    if (!may_move) return false;
    ++moves;
    return true;
  }

  std::function<void()> refusal;  ///< throws
  bool may_move = true;
  std::int64_t moves = 0;

 private:
  ScriptedDevice& device_;
  std::unique_ptr<PreparedOperation> operation_;
  std::int64_t last_launch_ = -1;
};

TEST(PairedGroups, WhatCannotBeRecordedHasAllReadByEvents) {
  const std::vector<std::function<void()>> refusals = {
      [] { throw UsageError("it draws random numbers"); },
      [] { throw FailedError("the recording was refused"); }};
  for (const auto& refusal : refusals) {
    Laboratory laboratory(element_times());
    WatchedWorkload brief(laboratory.device, 100), lasting(laboratory.device, 1000);
    lasting.refusal = refusal;
    const auto results =
        laboratory.session.measure({{{brief, "brief", warm_bursts()}, {lasting, "lasting", warm_bursts()}}});
    ASSERT_EQ(results.size(), 2u);
    for (const Result& result : results) {
      EXPECT_EQ(result.measurements.at(0).instrument, Instrument::events);
      EXPECT_EQ(result.measurements.at(0).rounds.size(), 10u);
    }
  }
}

TEST(PairedGroups, EachWorkloadIsMovedOnceForABlock) {
  Laboratory laboratory(element_times());
  WatchedWorkload first(laboratory.device, 1000), second(laboratory.device, 1010);
  MeasureOptions options = warm_bursts();
  options.caches = {CacheState::warm, CacheState::cold};
  const auto results = laboratory.session.measure({{{first, "first", options}, {second, "second", options}}});
  std::set<std::int64_t> blocks, placements;
  for (const Result& result : results) {
    for (const Measurement& measurement : result.measurements) {
      EXPECT_TRUE(measurement.is_placed_anew);
      for (const Round& round : measurement.rounds) {
        blocks.insert(round.block);
        placements.insert(round.placement);
        EXPECT_EQ(round.block, round.placement);
      }
    }
  }
  EXPECT_EQ(blocks.size(), 10u);
  EXPECT_EQ(placements, blocks);
  // None before the first: there they lie as prepared.
  EXPECT_EQ(first.moves, 9);
  EXPECT_EQ(second.moves, 9);
}

TEST(PairedGroups, WhatStaysIsNotSaidToBeMoved) {
  Laboratory laboratory(element_times());
  WatchedWorkload moving(laboratory.device, 1000), fixed(laboratory.device, 1010),
      stays(laboratory.device, 1020);
  stays.may_move = false;
  MeasureOptions in_one_place = warm_bursts();
  in_one_place.placement = 3;
  const auto results = laboratory.session.measure(
      {{{moving, "moving", warm_bursts()}, {fixed, "fixed", in_one_place}, {stays, "stays", warm_bursts()}}});
  EXPECT_EQ(moving.moves, 9);
  EXPECT_EQ(fixed.moves, 0);
  EXPECT_TRUE(results[0].measurements.at(0).is_placed_anew);
  EXPECT_FALSE(results[1].measurements.at(0).is_placed_anew);
  EXPECT_FALSE(results[2].measurements.at(0).is_placed_anew);
  EXPECT_EQ(results[1].measurements.at(0).conditions.placement, 3);
  for (const Round& round : results[1].measurements.at(0).rounds) EXPECT_EQ(round.placement, 0);
}

TEST(PairedGroups, OneThatCannotBePreparedLeavesTheOthersOfItsGroup) {
  Script script = element_times();
  script.missing_types = {DataType::f16};
  for (const std::size_t place : {0u, 1u, 2u}) {
    Laboratory laboratory(script);
    std::vector<Operation> operations = {sum_of(1000), sum_of(1010)};
    operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(place), sum_of(1020, DataType::f16));
    // In the second group it may be the first that is in the way, so that it is tried once more, alone.
    const auto outcomes = measure_groups(
        laboratory, {group_of({sum_of(500)}, warm_bursts()), group_of(operations, warm_bursts())});
    ASSERT_EQ(outcomes.size(), 4u);
    std::vector<std::map<std::int64_t, int>> blocks;
    for (std::size_t i = 0; i < 3; ++i) {
      const Outcome& outcome = outcomes[i + 1];
      EXPECT_EQ(static_cast<bool>(outcome.error), i == place);
      if (i == place) continue;
      EXPECT_EQ(outcome.result.subject, Subject(operations[i]));
      blocks.push_back(rounds_in_blocks(rounds_of(outcome)));
    }
    EXPECT_EQ(blocks.at(0), blocks.at(1));
  }
}

TEST(PairedGroups, AFailureWhileMeasuringCostsItsGroupAndNoOther) {
  const std::vector<Trial> first = group_of({sum_of(1000), sum_of(1010)}, warm_bursts());
  const std::vector<Trial> second = group_of({sum_of(2000), sum_of(2020)}, warm_bursts());
  const auto fail_soon = [](Laboratory& laboratory) {
    laboratory.device.script().failure =
        Failure{Call::sensors, laboratory.device.state().counts[Call::sensors] + 5};
  };
  Laboratory alone(element_times());
  fail_soon(alone);
  for (const Outcome& outcome : measure_groups(alone, {first})) EXPECT_TRUE(outcome.error);
  // Of two, nobody knows whose failure it was: each is measured again, alone, and still as a pair.
  Laboratory both(element_times());
  fail_soon(both);
  const auto outcomes = measure_groups(both, {first, second});
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error);
  EXPECT_EQ(rounds_in_blocks(rounds_of(outcomes[2])), rounds_in_blocks(rounds_of(outcomes[3])));
  EXPECT_EQ(rounds_of(outcomes[3]).size(), 10u);
}

TEST(PairedGroups, AnInterruptionKeepsWhatThereIs) {
  Laboratory laboratory(element_times());
  MeasureOptions options = warm_bursts();
  options.caches = {CacheState::warm, CacheState::cold};
  for (const int after : {1, 2, 5, 11}) {
    int reports = 0;
    options.progress = [&](const Progress&) { ++reports; };
    options.interrupted = [&] { return reports >= after; };
    const auto outcomes = measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010)}, options),
                                                      group_of({sum_of(2000), sum_of(2020)}, options)});
    int rounds = 0;
    for (const Outcome& outcome : outcomes) {
      EXPECT_FALSE(outcome.error);
      for (const Measurement& measurement : outcome.result.measurements) {
        EXPECT_THAT(measurement.rounds, testing::Not(IsEmpty()));
        EXPECT_EQ(measurement.stop_reason, StopReason::interrupted);
        rounds += static_cast<int>(measurement.rounds.size());
      }
    }
    EXPECT_EQ(rounds, after);
  }
}

// What is timed second under a sustained load meets a chip that the first has heated.
TEST(PairedGroups, TheSeedDrawsWhoComesFirstUnderASustainedLoad) {
  MeasureOptions options = one_condition(CacheState::warm, Load::sustained);
  options.sustained_time_limit = seconds(1);
  std::set<std::size_t> firsts;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    options.seed = seed;
    Laboratory laboratory(element_times());
    std::vector<std::int64_t> order;
    options.progress = {};
    laboratory.device.script().launch_time = [&order](const LaunchContext& context) {
      const std::int64_t count = count_in(context);
      if (context.index > 20 && (order.empty() || order.back() != count)) order.push_back(count);
      return Nanoseconds(100.0 * static_cast<double>(count));
    };
    const auto outcomes = measure_groups(laboratory, {group_of({sum_of(1000), sum_of(1010)}, options)});
    ASSERT_EQ(order.size(), 2u);
    firsts.insert(order.front() == 1000 ? 0u : 1u);
    // Each has its own.
    EXPECT_NEAR(outcomes[0].result.measurements.at(0).time.median.value(), 100e3, 200.0);
    EXPECT_NEAR(outcomes[1].result.measurements.at(0).time.median.value(), 101e3, 200.0);
  }
  EXPECT_EQ(firsts.size(), 2u);
}

}  // namespace
}  // namespace jitterscope::scripted
