// All layers of a network together.
#include <gmock/gmock.h>

#include "experiment/comparison.hpp"
#include "experiment/simulated_processes.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using test::failed_entry;
using test::processes_of;
using testing::IsEmpty;
using testing::SizeIs;

// Trials: layer after layer, the first alternative's before the second's.
ComparisonItems layers(std::vector<std::int64_t> counts, std::size_t alternatives = 2) {
  ComparisonItems items{{}, alternatives};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    items.items.push_back({.count = counts[i], .layers = {"layer" + std::to_string(i + 1)}});
  }
  return items;
}

ComparisonRecord network(const ComparisonItems& items, const std::vector<RunRecord>& processes) {
  ComparisonRecord record = test::blank_comparison(items.alternatives);
  compare_processes(items, processes, record);
  return record;
}

TEST(ComparedTotals, EachLayerCountsAsOftenAsTheNetworkRunsIt) {
  const ComparisonRecord record = network(layers({1, 10}), processes_of(6, {100.0, 130.0, 20.0, 20.0}));
  ASSERT_THAT(record.totals, SizeIs(1));
  const TotalComparison& total = record.totals[0];
  EXPECT_NEAR(total.first.median.value(), 300e3, 15e3);
  EXPECT_NEAR(total.time.ratio, 330.0 / 300.0, 0.002);
  EXPECT_LT(total.time.high - total.time.low, 0.01);
  EXPECT_EQ(total.processes, 6);
  EXPECT_EQ(total.verdict, EffectVerdict::slower);
  EXPECT_EQ(total.alternative, 1u);
}

TEST(ComparedTotals, OneForEachArmAndState) {
  std::vector<RunRecord> processes = processes_of(4, {100.0, 110.0, 90.0, 20.0, 20.0, 20.0});
  for (RunRecord& process : processes) {
    for (RunEntry& entry : process.entries) {
      Measurement cold = entry.result.measurements[0];
      cold.conditions.cache = CacheState::cold;
      entry.result.measurements.push_back(cold);
    }
  }
  const ComparisonRecord record = network(layers({1, 1}, 3), processes);
  ASSERT_THAT(record.totals, SizeIs(4));
  EXPECT_EQ(record.totals[1].cache, CacheState::cold);
  EXPECT_EQ(record.totals[1].alternative, 1u);
  EXPECT_EQ(record.totals[1].verdict, EffectVerdict::slower);
  EXPECT_EQ(record.totals[2].alternative, 2u);
  EXPECT_EQ(record.totals[2].verdict, EffectVerdict::faster);
}

TEST(ComparedTotals, WhatFailsEverywhereIsInNeitherSum) {
  std::vector<RunRecord> processes = processes_of(4, {100.0, 110.0, 20.0, 20.0});
  for (RunRecord& process : processes) process.entries[2] = failed_entry("add:count=3072", "out of memory");
  const ComparisonRecord record = network(layers({1, 10}), processes);
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_NEAR(record.totals[0].first.median.value(), 100e3, 5e3);
  // Operations that were typed have no names by which one could be told from the other.
  const ComparisonRecord typed = network({std::vector<RunEntry>(2), 2}, processes);
  ASSERT_THAT(typed.totals, SizeIs(1));
  EXPECT_NEAR(typed.totals[0].first.median.value(), 100e3, 5e3);
}

TEST(ComparedTotals, AProcessThatDidNotReachAllLayersIsInNoSum) {
  std::vector<RunRecord> processes = processes_of(5, {100.0, 110.0, 20.0, 20.0});
  processes.back().entries.resize(2);
  processes.back().interrupted = true;
  const ComparisonRecord record = network(layers({1, 1}), processes);
  EXPECT_EQ(record.comparisons[0].processes, 5);
  EXPECT_EQ(record.comparisons[1].processes, 4);
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_EQ(record.totals[0].processes, 4);
  EXPECT_NEAR(record.totals[0].first.median.value(), 120e3, 6e3);
}

// Ratios of layers are off by what blocks differ by: the total's interval holds the truth as often as theirs.
TEST(ComparedTotals, OfOneProcessTheBlocksAreTheUnit) {
  constexpr int kRuns = 400;
  int held = 0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    const std::vector<RunRecord> one = {
        test::process_of(1000 + run, {100.0, 130.0, 20.0, 20.0}, {.ratio = 0.0})};
    const ComparisonRecord record = network(layers({1, 10}), one);
    ASSERT_THAT(record.totals, SizeIs(1));
    const TotalComparison& total = record.totals[0];
    EXPECT_EQ(total.processes, 1);
    EXPECT_EQ(total.verdict, EffectVerdict::slower);
    constexpr double kTruth = 330.0 / 300.0;
    held += total.time.low <= kTruth && kTruth <= total.time.high ? 1 : 0;
  }
  EXPECT_GE(held, 0.93 * kRuns);
}

TEST(ComparedTotals, OfNetworksWithOtherLayersThereIsNoVerdict) {
  ComparisonRecord record = test::blank_comparison(2);
  record.left_out = {{.alternative = 1, .layers = 3, .of = 14}};
  compare_processes(layers({1, 10}), processes_of(6, {100.0, 130.0, 20.0, 20.0}), record);
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_NEAR(record.totals[0].time.ratio, 330.0 / 300.0, 0.002);
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::undecided);
  EXPECT_FALSE(record.totals[0].processes_to_decide);
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::slower) << "of a layer there is one";
}

TEST(ComparedTotals, HaveCyclesAndClocksWhereAllLayersDo) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{5}}) {
    std::vector<RunRecord> processes = processes_of(count, {100.0, 130.0, 20.0, 20.0});
    for (RunRecord& process : processes) {
      for (RunEntry& entry : process.entries) {
        EXPECT_TRUE(entry.result.measurements[0].cycles);
      }
    }
    const ComparisonRecord record = network(layers({1, 10}), processes);
    ASSERT_THAT(record.totals, SizeIs(1));
    ASSERT_TRUE(record.totals[0].cycles);
    EXPECT_NEAR(record.totals[0].cycles->ratio, 330.0 / 300.0, 0.01);
    EXPECT_NEAR(record.totals[0].first_clock->value(), test::kClock, 0.01 * test::kClock);
    EXPECT_NEAR(record.totals[0].second_clock->value(), test::kClock, 0.01 * test::kClock);
    // Of the last process the clock of one round of one layer is not known.
    for (Round& round : processes.back().entries[3].result.measurements[0].rounds) round.clock.reset();
    processes.back().entries[3].result.measurements[0].clock.reset();
    processes.back().entries[3].result.measurements[0].cycles.reset();
    const ComparisonRecord unknown = network(layers({1, 10}), processes);
    ASSERT_THAT(unknown.totals, SizeIs(1));
    EXPECT_FALSE(unknown.totals[0].cycles) << count;
    EXPECT_FALSE(unknown.totals[0].first_clock);
  }
}

TEST(ComparedTotals, AMarginBelowTheInstrumentAsksForNoProcesses) {
  const auto compared_with = [](Nanoseconds grain, Nanoseconds uncertainty) {
    std::vector<RunRecord> processes;
    // Of alike sides one in twenty is shown to differ: these are not.
    for (std::uint64_t number = 20; number < 26; ++number)
      processes.push_back(test::process_of(number, {20.0, 20.0, 20.0, 20.0}));
    for (RunRecord& process : processes) {
      for (RunEntry& entry : process.entries) {
        entry.result.measurements[0].constant.grain = grain;
        entry.result.measurements[0].constant.uncertainty = uncertainty;
      }
    }
    ComparisonRecord record = test::blank_comparison(2);
    record.margin = 1e-6;
    compare_processes(layers({1, 10}), processes, record);
    return record;
  };
  const ComparisonRecord coarse = compared_with(Nanoseconds(400), {});
  EXPECT_NEAR(coarse.comparisons[0].resolution, 0.02, 0.002);
  EXPECT_NEAR(resolution_of(coarse, coarse.totals.at(0)), 0.02, 0.002);
  ASSERT_EQ(coarse.totals[0].verdict, EffectVerdict::undecided);
  EXPECT_FALSE(coarse.totals[0].processes_to_decide);
  EXPECT_FALSE(coarse.comparisons[0].processes_to_decide);
  const ComparisonRecord fine = compared_with({}, {});
  EXPECT_TRUE(fine.totals.at(0).processes_to_decide) << "the control: else it is not known to be the timer";
  EXPECT_EQ(fine.comparisons[0].resolution, 0.0);
  // Both sides lie in one process, and have the same error.
  EXPECT_LT(compared_with({}, Nanoseconds(400)).comparisons[0].resolution, 0.0005);
}

TEST(ComparedTotals, OneOperationHasNone) {
  EXPECT_THAT(network(layers({1}), processes_of(1, {100.0, 110.0})).totals, IsEmpty());
}

// What a network runs several times is a whole, though it is one operation.
TEST(ComparedTotals, OneOperationThatIsCalledSeveralTimesHasOne) {
  const ComparisonRecord record = network(layers({12}), processes_of(6, {100.0, 130.0}));
  ASSERT_THAT(record.totals, SizeIs(1));
  EXPECT_NEAR(record.totals[0].first.median.value(), 1200e3, 60e3);
  EXPECT_NEAR(record.totals[0].second.median.value() / record.comparisons[0].second.time.median.value(), 12.0,
              1e-6);
  EXPECT_NEAR(record.totals[0].time.ratio, 1.3, 0.003);
  EXPECT_EQ(record.totals[0].verdict, EffectVerdict::slower);
  EXPECT_THAT(network(layers({1}), processes_of(6, {100.0, 130.0})).totals, IsEmpty());
}

}  // namespace
}  // namespace jitterscope
