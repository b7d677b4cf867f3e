// Two records that were measured apart.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "experiment/comparison.hpp"
#include "experiment/simulated_processes.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using test::entry_of;
using test::failed_entry;
using test::record_of;
using test::timed;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Twelve blocks of ± 0.3 % around it.
Measurement about(double microseconds, CacheState cache = CacheState::warm, double clock = test::kClock) {
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) times.push_back(microseconds * (1.0 + 0.001 * (i % 7 - 3)));
  return timed(times, cache, Hertz(clock));
}

RunRecord machine_of(std::vector<RunEntry> entries) {
  RunRecord record = record_of(std::move(entries));
  record.environment.tool_version = "1.0.0";
  record.environment.host = {{"host_name", "lab1"}, {"kernel", "6.1"}};
  record.device.name = "NVIDIA H200";
  record.device.uuid = "GPU-0";
  record.device.power_limit = Watts(700);
  record.device.properties = {{"driver", "570.1"}};
  record.device.libraries = {{"cudnn", "9.1.0", "", ""}};
  return record;
}

RunRecord one_add(double microseconds) {
  return machine_of({entry_of("add:count=1024", {about(microseconds)})});
}

ComparisonRecord records_compared(const RunRecord& first, const RunRecord& second) {
  ComparisonRecord record = test::blank_comparison();
  compare_records(first, {&second, 1}, record);
  return record;
}

std::string refusal_of(const RunRecord& first, const RunRecord& second) {
  try {
    records_compared(first, second);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "compared";
}

const RecordDifference* difference_named(const ComparisonRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.differences, name, &RecordDifference::name);
  return found == record.differences.end() ? nullptr : &*found;
}

TEST(CompareRecords, TheSameTwiceDiffersInNothing) {
  const ComparisonRecord record = records_compared(one_add(20), one_add(20));
  EXPECT_THAT(record.differences, IsEmpty());
  EXPECT_THAT(record.notes, IsEmpty());
  ASSERT_THAT(record.comparisons, SizeIs(1));
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::same);
  EXPECT_DOUBLE_EQ(record.comparisons[0].time.ratio, 1.0);
}

TEST(CompareRecords, TheRatioHasTheIntervalsOfBoth) {
  const RunRecord first = one_add(20), second = one_add(21);
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.comparisons, SizeIs(1));
  const Comparison& comparison = record.comparisons[0];
  EXPECT_NEAR(comparison.time.ratio, 1.05, 1e-9);
  const TimeEstimate& own = first.entries[0].result.measurements[0].time;
  EXPECT_NEAR(std::log(comparison.time.high / comparison.time.low) / 2.0, std::sqrt(2.0) * own.precision(),
              1e-9);
  EXPECT_EQ(comparison.verdict, EffectVerdict::slower);
  EXPECT_DOUBLE_EQ(comparison.second.time.median.value(),
                   second.entries[0].result.measurements[0].time.median.value());
  EXPECT_EQ(records_compared(second, first).comparisons[0].verdict, EffectVerdict::faster);
}

TEST(CompareRecords, TheRecordWhoseCoreOthersHadIsNamed) {
  const RunRecord first = one_add(20.0);
  RunRecord second = first;
  for (Round& round : second.entries[0].result.measurements[0].rounds) round.taken_by_others = round.time();
  EXPECT_THAT(records_compared(first, first).notes, IsEmpty());
  EXPECT_THAT(records_compared(first, second).notes,
              testing::ElementsAre(testing::StartsWith(
                  "Other programs had the core of the second record for 50 % of the time: ")));
}

TEST(CompareRecords, WhatDiffersIsSaidWithWhetherItMayExplainATime) {
  RunRecord second = one_add(20);
  second.environment.tool_version = "1.1.0";
  second.environment.host[0].value = "lab2";
  second.device.uuid = "GPU-1";
  second.device.power_limit = Watts(600);
  second.device.properties[0].value = "580.2";
  second.device.libraries[0].version = "9.2.0";
  second.entries[0].result.algorithm = "eng7";
  second.entries[0].result.measurements[0].conditions.data = DataKind::zeros;
  second.entries[0].result.measurements[0].conditions.seed = 5;
  second.entries[0].result.measurements[0].instrument = Instrument::graph;
  const ComparisonRecord record = records_compared(one_add(20), second);
  for (const char* name :
       {"device uuid", "power limit", "driver", "cudnn", "jitterscope", "algorithm", "data", "instrument"}) {
    const RecordDifference* difference = difference_named(record, name);
    ASSERT_TRUE(difference) << name;
    EXPECT_TRUE(difference->may_explain) << name;
  }
  for (const char* name : {"host", "seed"}) {
    ASSERT_TRUE(difference_named(record, name)) << name;
    EXPECT_FALSE(difference_named(record, name)->may_explain) << name;
  }
  EXPECT_THAT(record.differences, SizeIs(10));
  EXPECT_EQ(difference_named(record, "power limit")->first, "700 W");
  EXPECT_EQ(difference_named(record, "cudnn")->second, "9.2.0");
}

TEST(CompareRecords, AnotherDeviceIsNamedOnce) {
  RunRecord second = one_add(20);
  second.device.name = "NVIDIA H100";
  second.device.uuid = "GPU-1";
  const ComparisonRecord record = records_compared(one_add(20), second);
  ASSERT_TRUE(difference_named(record, "device"));
  EXPECT_EQ(difference_named(record, "device")->second, "NVIDIA H100");
  EXPECT_FALSE(difference_named(record, "device uuid"));
}

TEST(CompareRecords, WhatOnlyOneOfThemHasIsADifferenceEitherWay) {
  RunRecord more = one_add(20);
  more.device.libraries.push_back({"torch", "2.9", "", ""});
  more.device.properties.push_back({"ecc", "on"});
  const ComparisonRecord lost = records_compared(more, one_add(20)),
                         gained = records_compared(one_add(20), more);
  for (const char* name : {"torch", "ecc"}) {
    ASSERT_TRUE(difference_named(lost, name)) << name;
    EXPECT_EQ(difference_named(lost, name)->second, "");
    ASSERT_TRUE(difference_named(gained, name)) << name;
    EXPECT_EQ(difference_named(gained, name)->first, "");
  }
}

TEST(CompareRecords, AClockIsNamedWhereItMoved) {
  const auto at = [](double clock) {
    return machine_of({entry_of("add:count=1024", {about(20, CacheState::warm, clock)})});
  };
  const ComparisonRecord moved = records_compared(at(1.7e9), at(1.5e9));
  const RecordDifference* clock = difference_named(moved, "clock");
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->first, "1700 MHz");
  EXPECT_EQ(clock->second, "1500 MHz");
  EXPECT_TRUE(clock->may_explain);
  EXPECT_FALSE(difference_named(records_compared(at(1.7e9), at(1.704e9)), "clock"));
  EXPECT_TRUE(difference_named(records_compared(at(1.7e9), at(1.712e9)), "clock"));
  RunRecord unknown = at(1.5e9);
  unknown.entries[0].result.measurements[0].clock.reset();
  EXPECT_FALSE(difference_named(records_compared(at(1.7e9), unknown), "clock"));
}

TEST(CompareRecords, TheSameOperationIsFoundWhereverItStands) {
  const RunRecord first =
      machine_of({entry_of("add:count=1", {about(10)}), entry_of("add:count=2", {about(20)}),
                  entry_of("add:count=4", {about(40)})});
  const RunRecord second =
      machine_of({entry_of("add:count=8", {about(80)}), entry_of("add:count=2", {about(22)}),
                  entry_of("add:count=1", {about(11)})});
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.comparisons, SizeIs(2));
  for (const Comparison& comparison : record.comparisons) {
    EXPECT_EQ(comparison.first.subject, comparison.second.subject);
    EXPECT_NEAR(comparison.time.ratio, 1.1, 1e-9);
  }
  EXPECT_FALSE(difference_named(record, "operation"));
  ASSERT_THAT(record.notes, SizeIs(2));
  EXPECT_THAT(record.notes[0], HasSubstr("1 of the 3 operations of the first record"));
}

RunEntry layer(const std::string& name, const std::string& operation, double microseconds,
               std::int64_t count = 1) {
  RunEntry entry = entry_of(operation, {about(microseconds)});
  entry.layers = {name};
  entry.count = count;
  return entry;
}

TEST(CompareRecords, LayersAreFoundByTheirNames) {
  const RunRecord first = machine_of({layer("conv1", "add:count=1", 10), layer("fc", "add:count=2", 30, 3)});
  const RunRecord second =
      machine_of({layer("fc", "add:count=20", 33, 3), layer("conv1", "add:count=10", 9)});
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.comparisons, SizeIs(2));
  EXPECT_EQ(record.comparisons[0].layers, std::vector<std::string>{"conv1"});
  EXPECT_EQ(record.comparisons[0].second.subject, Subject(Operation::parse("add:count=10")));
  EXPECT_EQ(record.comparisons[1].count, 3);
  ASSERT_TRUE(difference_named(record, "operation"));
  // The total is what the network takes.
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_NEAR(record.totals[0].first.median.value(), 100e3, 100.0);
  EXPECT_NEAR(record.totals[0].time.ratio, 1.08, 1e-6);
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::slower);
}

// With half the batch the first call of a network is what its second one was with the whole.
TEST(CompareRecords, CallsOfOneNetworkAreFoundByTheirNamesBeforeTheirWork) {
  RunEntry both = layer("late.relu", "add:count=4", 10, 2);
  both.layers = {"late.relu", "late.add"};
  const RunRecord first = machine_of({layer("early.relu", "add:count=8", 20), both});
  RunEntry late = layer("late.relu", "add:count=2", 5), other = layer("late.add", "add:count=1", 4);
  const RunRecord half = machine_of({layer("early.relu", "add:count=4", 10), late, other});
  const ComparisonRecord record = records_compared(first, half);
  EXPECT_THAT(record.left_out, IsEmpty());
  ASSERT_THAT(record.comparisons, SizeIs(3));
  EXPECT_EQ(record.comparisons[0].second.subject, Subject(Operation::parse("add:count=4")));
  EXPECT_EQ(record.comparisons[1].count, 1);
  EXPECT_EQ(record.comparisons[2].count, 1);
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_NEAR(record.totals[0].time.ratio, 19.0 / 40.0, 1e-6);
}

// 24 samples in 90 us are slower than 32 in 100.
TEST(CompareRecords, OfOtherBatchesASampleIsJudged) {
  const auto with_batch = [](int batch, double microseconds) {
    RunEntry entry = entry_of(fmt::format("conv2d:n={},c=8,hw=8,k=8,rs=1", batch), {about(microseconds)});
    entry.layers = {"conv1"};
    return machine_of({entry});
  };
  const ComparisonRecord record = records_compared(with_batch(32, 100.0), with_batch(24, 90.0));
  EXPECT_THAT(record.samples, testing::ElementsAre(32, 24));
  ASSERT_THAT(record.comparisons, SizeIs(1));
  const Comparison& comparison = record.comparisons.front();
  EXPECT_NEAR(comparison.time.ratio, 1.2, 1e-3);
  EXPECT_EQ(comparison.verdict, EffectVerdict::slower);
  EXPECT_NEAR(comparison.second.per_sample.value().value(), 90e3 / 24, 10.0);
  EXPECT_THAT(records_compared(with_batch(32, 100.0), with_batch(32, 90.0)).samples, IsEmpty());
}

TEST(CompareRecords, OfOtherTypesNoSampleIsJudged) {
  const auto with_type = [](const std::string& type) {
    RunEntry entry = entry_of("conv2d:n=32,c=8,hw=8,k=8,rs=1,dtype=" + type, {about(100.0)});
    entry.layers = {"conv1"};
    return machine_of({entry});
  };
  EXPECT_THAT(records_compared(with_type("f16"), with_type("tf32")).samples, IsEmpty());
}

TEST(CompareRecords, LayersWithoutPartnerAreCountedAndLeaveNoVerdict) {
  const RunRecord first = machine_of({layer("conv1", "add:count=1", 10), layer("fc", "add:count=2", 30, 3)});
  RunRecord second = machine_of({layer("conv1", "add:count=1", 12), layer("fc", "add:count=2", 36, 3),
                                 layer("pool", "add:count=4", 9, 5)});
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.left_out, SizeIs(1));
  EXPECT_EQ(record.left_out[0].alternative, 1u);
  EXPECT_EQ(record.left_out[0].layers, 5);
  EXPECT_EQ(record.left_out[0].of, 9);
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::undecided);
  EXPECT_FALSE(record.totals[0].processes_to_decide);
  EXPECT_FALSE(is_whole(record, record.totals[0]));
  ASSERT_THAT(record.notes, SizeIs(1));
  EXPECT_EQ(record.notes[0], "5 of 9 layers of the second record are not in the other: pool.");
  // The same layers, one of them run more often.
  second = machine_of({layer("conv1", "add:count=1", 12), layer("fc", "add:count=2", 36, 7)});
  const ComparisonRecord more = records_compared(first, second);
  ASSERT_THAT(more.left_out, SizeIs(1));
  EXPECT_EQ(more.left_out[0].layers, 4);
  EXPECT_EQ(more.comparisons[1].count, 3);
  EXPECT_THAT(records_compared(first, first).left_out, IsEmpty());
  // Two operations of the first have one partner, which is in the total once.
  const RunRecord twice = machine_of({layer("conv1", "add:count=1", 10), layer("conv1", "add:count=8", 11),
                                      layer("fc", "add:count=2", 30, 3)});
  const ComparisonRecord once = records_compared(twice, first);
  ASSERT_THAT(once.left_out, SizeIs(1));
  EXPECT_EQ(once.left_out[0].alternative, 0u);
  EXPECT_EQ(once.left_out[0].layers, 1);
  EXPECT_NEAR(once.totals.at(0).second.median.value(), 100e3, 100.0);
  EXPECT_TRUE(is_whole(records_compared(first, first), records_compared(first, first).totals[0]));
}

TEST(CompareRecords, SeveralAreEachComparedWithTheFirst) {
  RunRecord third = machine_of({layer("conv1", "add:count=1", 20), layer("fc", "add:count=2", 30, 3)});
  third.device.properties[0].value = "580.2";
  const RunRecord first = machine_of({layer("conv1", "add:count=1", 10), layer("fc", "add:count=2", 30, 3)});
  const std::vector<RunRecord> others = {first, third};
  ComparisonRecord record = test::blank_comparison(3);
  compare_records(first, others, record);
  ASSERT_THAT(record.comparisons, SizeIs(4));
  EXPECT_EQ(record.comparisons[1].alternative, 1u);
  EXPECT_EQ(record.comparisons[2].alternative, 2u);
  EXPECT_NEAR(record.comparisons[2].time.ratio, 2.0, 1e-9);
  ASSERT_THAT(record.totals, SizeIs(2));
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::same);
  EXPECT_EQ(record.totals[1].alternative, 2u);
  // 20 + 3 * 30 over 10 + 3 * 30.
  EXPECT_NEAR(record.totals[1].time.ratio, 1.1, 1e-9);
  EXPECT_EQ(record.totals[1].verdict, EffectVerdict::slower);
  ASSERT_THAT(record.differences, SizeIs(1));
  EXPECT_EQ(record.differences[0].name, "driver");
  EXPECT_EQ(record.differences[0].alternative, 2u);
}

TEST(CompareRecords, ALayerThatOneOfSeveralLacksLeavesTheOthersWhole) {
  const RunRecord first = machine_of({layer("conv1", "add:count=1", 10), layer("fc", "add:count=2", 30, 3)});
  const std::vector<RunRecord> others = {machine_of({layer("conv1", "add:count=1", 10)}), first};
  ComparisonRecord record = test::blank_comparison(3);
  record.alternatives = {"a", "b", "c"};
  // One call alone makes no total.
  compare_records(first, others, record);
  ASSERT_THAT(record.left_out, SizeIs(1));
  EXPECT_EQ(record.left_out[0].alternative, 0u);
  EXPECT_EQ(record.left_out[0].beside, 1u);
  EXPECT_EQ(record.notes, std::vector<std::string>{"3 of 4 layers of the first record are not in b: fc."});
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_EQ(record.totals[0].alternative, 2u);
  EXPECT_TRUE(is_whole(record, record.totals[0]));
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::same);
}

TEST(CompareRecords, LayersOfTheSameNameThatDoOtherWorkAreNamed) {
  const RunRecord first =
      machine_of({layer("conv1", "add:count=1024", 10), layer("fc", "add:count=2", 30, 3)});
  const RunRecord second =
      machine_of({layer("conv1", "add:count=2048", 12), layer("fc", "add:count=2", 36, 3)});
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.notes, SizeIs(1));
  EXPECT_THAT(record.notes[0],
              AllOf(HasSubstr("1 of 4 layers do different work in "),
                    HasSubstr("as conv1: 1.02 kFLOP and 2.05 kFLOP, 12 KiB and 24 KiB to move.")));
  EXPECT_THAT(difference_named(record, "operation")->of, testing::ElementsAre("conv1"));
}

TEST(CompareRecords, OfOneOperationEachThatIsTheDifference) {
  const ComparisonRecord record = records_compared(machine_of({entry_of("add:count=1", {about(10)})}),
                                                   machine_of({entry_of("add:count=2", {about(12)})}));
  ASSERT_THAT(record.comparisons, SizeIs(1));
  ASSERT_TRUE(difference_named(record, "operation"));
  EXPECT_THAT(difference_named(record, "operation")->second, HasSubstr("add:count=2"));
}

TEST(CompareRecords, WithNothingInCommonItSaysWhatEachHas) {
  const RunRecord two =
      machine_of({entry_of("add:count=1", {about(1)}), entry_of("add:count=2", {about(2)})});
  const RunRecord other = machine_of({entry_of("mul:count=64", {about(1)})});
  EXPECT_THAT(refusal_of(two, other), AllOf(HasSubstr("no operation in common"), HasSubstr("add:count=1,"),
                                            HasSubstr("and 1 more"), HasSubstr("mul:count=64")));
  EXPECT_THAT(refusal_of(two, machine_of({})), HasSubstr("nothing that was timed"));
  const RunRecord cold = machine_of({entry_of("mul:count=64", {about(1, CacheState::cold)})});
  EXPECT_THAT(refusal_of(other, cold), HasSubstr("in the same cache state"));
}

TEST(CompareRecords, WhatTheInstrumentTellsApartIsOfBoth) {
  RunRecord first = one_add(20), second = one_add(20.002);
  for (RunRecord* record : {&first, &second})
    record->entries[0].result.measurements[0].constant.uncertainty = Nanoseconds(30);
  EXPECT_NEAR(records_compared(first, second).comparisons[0].resolution, std::sqrt(2.0) * 0.0015, 1e-6);
}

TEST(CompareRecords, OnlyStatesThatBothHaveAreCompared) {
  const RunRecord first = machine_of({entry_of("add:count=1", {about(10), about(30, CacheState::cold)})});
  const RunRecord second =
      machine_of({entry_of("add:count=1", {about(33, CacheState::cold), about(40, CacheState::dirty)})});
  const ComparisonRecord record = records_compared(first, second);
  ASSERT_THAT(record.comparisons, SizeIs(1));
  EXPECT_EQ(record.comparisons[0].first.conditions.cache, CacheState::cold);
  EXPECT_NEAR(record.comparisons[0].time.ratio, 1.1, 1e-9);
  // A note names the states that one record alone has.
  EXPECT_THAT(record.notes, testing::ElementsAre(HasSubstr("has times warm burst: not compared"),
                                                 HasSubstr("has times dirty burst: not compared")));
}

TEST(CompareRecords, AFailureHasItsReasonAndItsRecord) {
  const RunRecord good =
      machine_of({entry_of("add:count=1", {about(10)}), entry_of("add:count=2", {about(10)})});
  const RunRecord bad =
      machine_of({entry_of("add:count=1", {about(10)}), failed_entry("add:count=2", "out of memory")});
  const ComparisonRecord record = records_compared(good, bad);
  ASSERT_THAT(record.comparisons, SizeIs(2));
  EXPECT_EQ(record.comparisons[0].failure, "");
  EXPECT_THAT(record.comparisons[1].failure, AllOf(HasSubstr("second"), HasSubstr("out of memory")));
  EXPECT_EQ(record.comparisons[1].second.subject, Subject(Operation::parse("add:count=2")));
  const RunRecord only_bad = machine_of({failed_entry("add:count=2", "out of memory")});
  EXPECT_THAT(records_compared(only_bad, only_bad).comparisons.at(0).failure, HasSubstr("out of memory"));
}

TEST(CompareRecords, AnEngineThatDidNotRunIsNotCompared) {
  const auto record_with = [](const std::string& engine) {
    return machine_of({entry_of("conv2d:n=1,c=8,hw=8,k=8,rs=1" + engine, {about(10)})});
  };
  RunRecord ignored = record_with(",engine=eng7");
  test::ignore_engine(ignored.entries[0].result);
  EXPECT_EQ(records_compared(record_with(""), ignored).comparisons.at(0).failure, "The engine did not run.");
  EXPECT_EQ(records_compared(ignored, ignored).comparisons.at(0).failure, "");
}

TEST(CompareRecords, TooFewRoundsAreNoRatio) {
  const auto few = [] { return machine_of({entry_of("add:count=1", {timed({10, 10, 10})})}); };
  const ComparisonRecord record = records_compared(few(), few());
  EXPECT_EQ(record.comparisons.at(0).failure, "one of the two has too few rounds for an interval");
  EXPECT_EQ(record.comparisons.at(0).verdict, EffectVerdict::undecided);
}

TEST(CompareRecords, AVerdictHoldsBesideAllTheOthers) {
  // Sixteen operations, each ± 0.1 % or so wide; one moved by a little more than its own interval.
  const auto record_with = [](double first) {
    std::vector<RunEntry> entries;
    for (int i = 1; i <= 16; ++i) {
      entries.push_back(entry_of("add:count=" + std::to_string(i), {about(i == 1 ? first : 20.0)}));
    }
    return machine_of(std::move(entries));
  };
  ComparisonRecord record = test::blank_comparison();
  record.margin = 1e-6;
  const double half = std::sqrt(2.0) * about(20).time.precision();
  const RunRecord second = record_with(20.0 * (1.0 + 1.2 * half));
  compare_records(record_with(20.0), {&second, 1}, record);
  EXPECT_GT(record.comparisons[0].time.low, 1.0);
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::undecided);
}

TEST(CompareRecords, OneOperationThatIsCalledSeveralTimesHasATotal) {
  const auto calls = [](double microseconds, std::int64_t count) {
    RunRecord record = one_add(microseconds);
    record.entries[0].count = count;
    for (std::int64_t i = 0; i < count; ++i) record.entries[0].layers.push_back("add" + std::to_string(i));
    return record;
  };
  const ComparisonRecord alike = records_compared(calls(20, 12), calls(30, 12));
  ASSERT_THAT(alike.totals, SizeIs(1));
  EXPECT_NEAR(alike.totals[0].first.median.value(), 240e3, 500.0);
  EXPECT_NEAR(alike.totals[0].second.median.value(), 360e3, 500.0);
  EXPECT_EQ(alike.totals[0].verdict, EffectVerdict::slower);
  // Of unlike numbers what both have is compared, and there is no verdict on the whole.
  const ComparisonRecord unlike = records_compared(calls(20, 12), calls(20, 24));
  ASSERT_THAT(unlike.totals, SizeIs(1));
  EXPECT_NEAR(unlike.totals[0].second.median.value(), 240e3, 500.0);
  EXPECT_EQ(unlike.totals[0].verdict, EffectVerdict::undecided);
  ASSERT_THAT(unlike.left_out, SizeIs(1));
  EXPECT_EQ(unlike.left_out[0].layers, 12);
}

// Sixteen processes of 20 rounds, of which others disturb nine tenths by 20 to 60 %, and in two processes
// all.
RunRecord busy_host(double microseconds) {
  std::vector<double> times;
  for (int round = 0; round < 320; ++round) {
    const int process = round / 20;
    const double own = microseconds * (1.0 + 0.0005 * (process % 5 - 2));
    const bool is_quiet = process < 14 && round % 20 < 3;
    times.push_back(is_quiet ? own : own * (1.2 + 0.1 * (round % 5)));
  }
  Measurement measurement = timed(times);
  for (std::size_t i = 0; i < measurement.rounds.size(); ++i)
    measurement.rounds[i].process = static_cast<std::int64_t>(i / 20);
  for (int process = 0; process < 16; ++process)
    measurement.processes.push_back(
        {Nanoseconds(1000.0 * microseconds * (1.2 + 0.05 * (process % 7))), {}, {}});
  RunRecord record = machine_of({entry_of("add:count=1024", {measurement})});
  record.device.capabilities.is_host = true;
  return record;
}

TEST(CompareRecords, OnAHostTheRoundsThatOthersDisturbedLeastAreCompared) {
  const ComparisonRecord slower = records_compared(busy_host(100), busy_host(103));
  ASSERT_THAT(slower.comparisons, SizeIs(1));
  EXPECT_NEAR(slower.comparisons[0].time.ratio, 1.03, 0.001);
  EXPECT_EQ(slower.comparisons[0].verdict, EffectVerdict::slower);
  EXPECT_NEAR(slower.comparisons[0].first.time.median / microseconds(100), 1.0, 0.001);
  const ComparisonRecord same = records_compared(busy_host(100), busy_host(100));
  EXPECT_EQ(same.comparisons[0].verdict, EffectVerdict::same);
  EXPECT_THAT(same.notes, testing::ElementsAre(testing::HasSubstr("lie below the medians that `run`")));
  RunRecord gpu_before = busy_host(100), gpu_now = busy_host(103);
  gpu_before.device.capabilities.is_host = gpu_now.device.capabilities.is_host = false;
  EXPECT_EQ(records_compared(gpu_before, gpu_now).comparisons[0].verdict, EffectVerdict::undecided);
}

}  // namespace
}  // namespace jitterscope
