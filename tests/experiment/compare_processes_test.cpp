// Arms that were timed beside each other in several processes.
#include <gmock/gmock.h>

#include <cmath>

#include "experiment/comparison.hpp"
#include "experiment/simulated_processes.hpp"
#include "finding/finding.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using test::entry_of;
using test::failed_entry;
using test::process_of;
using test::processes_of;
using test::record_of;
using test::timed;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::Lt;

ComparisonItems one_item(std::size_t alternatives = 2) { return {{RunEntry{}}, alternatives}; }

ComparisonRecord compared(const ComparisonItems& items, const std::vector<RunRecord>& processes) {
  ComparisonRecord record = test::blank_comparison(items.alternatives);
  compare_processes(items, processes, record);
  return record;
}

Comparison only(const ComparisonRecord& record) {
  EXPECT_EQ(record.comparisons.size(), 1u);
  return record.comparisons.empty() ? Comparison() : record.comparisons.front();
}

TEST(CompareProcesses, AKnownEffectIsFoundWithItsInterval) {
  std::vector<RunRecord> processes = processes_of(8, {20.0, 20.6});
  for (RunRecord& process : processes) {
    Measurement& second = process.entries[1].result.measurements[0];
    for (Round& round : second.rounds) round.clock = Hertz(1.02 * test::kClock);
  }
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_EQ(comparison.failure, "");
  EXPECT_EQ(comparison.processes, 8);
  EXPECT_THAT(comparison.time.low, Lt(1.03));
  EXPECT_THAT(comparison.time.high, testing::Gt(1.03));
  // Processes and blocks differ by percents, which both alternatives share: the ratio is known far better.
  EXPECT_LT(comparison.time.high - comparison.time.low, 0.003);
  EXPECT_EQ(comparison.verdict, EffectVerdict::slower);
  EXPECT_FALSE(comparison.processes_to_decide.has_value());
  EXPECT_LT(comparison.p_value, 1e-6);
  // A block's ratio has the noise of two rounds; so has that of a process, with 12 blocks, and its own.
  EXPECT_THAT(comparison.within, AllOf(Ge(0.0005), Le(0.0013)));
  EXPECT_LT(comparison.between, 0.0015);
  ASSERT_TRUE(comparison.cycles);
  EXPECT_NEAR(comparison.cycles->ratio, comparison.time.ratio * 1.02, 1e-6);
  EXPECT_NEAR(comparison.cycles->high, comparison.time.high * 1.02, 1e-6);
}

TEST(CompareProcesses, WhatOtherProgramsTookOfTheCoreIsSaid) {
  std::vector<RunRecord> processes = processes_of(4, {20.0, 20.6});
  EXPECT_THAT(compared(one_item(), processes).notes, IsEmpty());
  for (const std::size_t disturbed : {1u, 3u}) {
    for (RunEntry& entry : processes[disturbed].entries) {
      for (Round& round : entry.result.measurements[0].rounds)
        round.taken_by_others = round.time() * (disturbed == 1 ? 0.25 : 1.0);
    }
  }
  EXPECT_THAT(compared(one_item(), processes).notes,
              ElementsAre(testing::StartsWith("Other programs had this thread's core for 20 % to 50 % of the "
                                              "time in 2 of 4 processes: ")));
}

TEST(CompareProcesses, WhoUsesTheDeviceIsSaid) {
  std::vector<RunRecord> processes = processes_of(2, {20.0, 20.6});
  Finding& finding = processes[1].findings.emplace_back();
  finding.id = kOtherProcessFinding;
  finding.sentence = "1 other process makes use of cuda:0: 7 game.";
  EXPECT_THAT(compared(one_item(), processes).notes, ElementsAre(finding.sentence));
}

TEST(CompareProcesses, EachSideKeepsTheTimesOfItsRounds) {
  const std::vector<RunRecord> processes = processes_of(8, {20.0, 20.6});
  const Comparison comparison = only(compared(one_item(), processes));
  std::vector<double> expected, kept;
  for (const RunRecord& process : processes) {
    for (const Round& round : process.entries[1].result.measurements[0].rounds) {
      expected.push_back(round.time().value());
    }
  }
  for (const Nanoseconds time : comparison.second.rounds) kept.push_back(time.value());
  ASSERT_EQ(comparison.first.rounds.size(), expected.size());
  EXPECT_THAT(kept, testing::Pointwise(testing::DoubleNear(0.06), expected));
}

TEST(CompareProcesses, OfManyRoundsEachSideKeepsSomeThatHaveTheirShape) {
  std::vector<RunRecord> processes = processes_of(8, {20.0, 20.6});
  for (RunRecord& process : processes) {
    for (RunEntry& entry : process.entries) {
      std::vector<Round>& rounds = entry.result.measurements[0].rounds;
      const std::vector<Round> few = rounds;
      for (int i = 0; i < 20; ++i) rounds.insert(rounds.end(), few.begin(), few.end());
    }
  }
  const Comparison comparison = only(compared(one_item(), processes));
  ASSERT_THAT(comparison.first.rounds, testing::SizeIs(400));
  double least = 1e9, most = 0.0;
  for (const RunRecord& process : processes) {
    for (const Round& round : process.entries[0].result.measurements[0].rounds) {
      least = std::min(least, round.time().value());
      most = std::max(most, round.time().value());
    }
  }
  EXPECT_NEAR(comparison.first.rounds.front().value(), least, 0.1);
  EXPECT_NEAR(comparison.first.rounds.back().value(), most, 0.1);
  RunEntry layer;
  layer.layers = {"conv1"};
  EXPECT_THAT(only(compared({{layer}, 2}, processes)).first.rounds, IsEmpty())
      << "layers have too many sides";
}

TEST(CompareProcesses, AWrongResultHasNoVerdict) {
  std::vector<RunRecord> processes = processes_of(8, {20.0, 20.6, 10.0});
  const ComparisonRecord all = compared(one_item(3), processes);
  for (RunRecord& process : processes) {
    process.entries[2].result.verification = Verification{.unwritten = 7, .passed = false};
  }
  const ComparisonRecord record = compared(one_item(3), processes);
  ASSERT_EQ(record.comparisons.size(), 2u);
  EXPECT_EQ(all.comparisons[1].verdict, EffectVerdict::faster);
  EXPECT_EQ(record.comparisons[1].verdict, EffectVerdict::undecided);
  EXPECT_FALSE(record.comparisons[1].processes_to_decide.has_value());
  EXPECT_EQ(record.comparisons[0].verdict, all.comparisons[0].verdict);
}

TEST(CompareProcesses, RatiosAreOfTheSameWork) {
  ComparisonRecord record = test::blank_comparison(2);
  record.works = {2.0, 8.0};  // four times as much in three times the time
  compare_processes(one_item(), processes_of(8, {20.0, 60.0}), record);
  const Comparison comparison = only(record);
  EXPECT_NEAR(comparison.time.ratio, 0.75, 0.001);
  EXPECT_NEAR(comparison.cycles->ratio, 0.75, 0.001);
  EXPECT_EQ(comparison.verdict, EffectVerdict::faster);
  EXPECT_NEAR(comparison.second.time.median.value(), 60e3, 3e3);  // of a launch
}

// The second engine did not run.
std::vector<RunRecord> processes_of_engines(const std::string& first, const std::string& second) {
  const std::string convolution = "conv2d:n=1,c=8,hw=8,k=8,rs=1,engine=";
  std::vector<RunRecord> processes = processes_of(4, {20.0, 20.0});
  for (RunRecord& process : processes) {
    process.entries[0].result.subject = Operation::parse(convolution + first);
    process.entries[1].result.subject = Operation::parse(convolution + second);
    test::ignore_engine(process.entries[1].result);
  }
  return processes;
}

// "The same time" would be said of one engine that ran twice.
TEST(CompareProcesses, AnEngineThatDidNotRunIsNotCompared) {
  const ComparisonRecord record = compared(one_item(), processes_of_engines("eng5", "eng7"));
  EXPECT_EQ(only(record).failure, "The engine did not run.");
  EXPECT_THAT(record.notes, IsEmpty());
}

// What else differs is compared, and what ran is said.
TEST(CompareProcesses, AnEngineThatBothAskForAndDidNotRunIsNamed) {
  std::vector<RunRecord> processes = processes_of_engines("eng7", "eng7");
  EXPECT_EQ(only(compared(one_item(), processes)).failure, "");
  EXPECT_THAT(compared(one_item(), processes).notes, ElementsAre("The engine did not run."));
  const ComparisonItems two_layers{{RunEntry{}, RunEntry{}}, 2};
  for (RunRecord& process : processes) {
    const std::vector<RunEntry> one = process.entries;
    process.entries.insert(process.entries.end(), one.begin(), one.end());
  }
  EXPECT_THAT(compared(two_layers, processes).notes,
              ElementsAre("The engine did not run. So in 1 more comparison."));
}

TEST(CompareProcesses, ItemsThatAreNoWholeHaveNoTotal) {
  ComparisonItems items{{RunEntry{}, RunEntry{}}, 2};
  const std::vector<RunRecord> processes = processes_of(4, {20.0, 30.0, 40.0, 50.0});
  EXPECT_EQ(compared(items, processes).totals.size(), 1u);
  items.have_total = false;
  EXPECT_THAT(compared(items, processes).totals, IsEmpty());
}

TEST(CompareProcesses, AResultThatIsWrongIsKnown) {
  std::vector<RunRecord> processes = processes_of(3, {20.0, 30.0});
  processes[0].entries[0].result.verification = Verification{.relative_error = 1e-7, .passed = true};
  processes[0].entries[1].result.verification = Verification{.relative_error = 0.5, .passed = false};
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_EQ(comparison.first.verification->relative_error, 1e-7);
  EXPECT_TRUE(is_wrong(comparison));
  processes[0].entries[1].result.verification.reset();
  EXPECT_FALSE(is_wrong(only(compared(one_item(), processes))));
}

TEST(CompareProcesses, TheUnitIsTheProcess) {
  // Each process is sure of a ratio of its own, and they differ by 2 %.
  const Comparison comparison =
      only(compared(one_item(), processes_of(6, {20.0, 20.0}, {.round = 0.0001, .ratio = 0.02})));
  EXPECT_GT(comparison.between, 0.01);
  EXPECT_LT(comparison.within, 0.0002);
  EXPECT_GT(comparison.time.high - comparison.time.low, 0.03);
}

TEST(CompareProcesses, VerdictsFollowTheRatioAndTheMargin) {
  EXPECT_EQ(only(compared(one_item(), processes_of(6, {20.0, 19.0}))).verdict, EffectVerdict::faster);
  EXPECT_EQ(only(compared(one_item(), processes_of(6, {20.0, 20.0}))).verdict, EffectVerdict::same);
  const Comparison open = only(compared(one_item(), processes_of(4, {20.0, 20.0}, {.ratio = 0.03})));
  EXPECT_EQ(open.verdict, EffectVerdict::undecided);
  EXPECT_GT(open.processes_to_decide.value_or(0), 4);
}

TEST(CompareProcesses, TimesAreOverProcessesToo) {
  const std::vector<RunRecord> processes = processes_of(5, {20.0, 21.0});
  const Comparison comparison = only(compared(one_item(), processes));
  double sum = 0.0;
  for (const RunRecord& process : processes)
    sum += process.entries[1].result.measurements[0].time.median.value();
  EXPECT_NEAR(comparison.second.time.median.value(), sum / 5.0, 1e-6);
  EXPECT_EQ(comparison.second.time.rounds, 60);
  EXPECT_GT(comparison.second.time.precision(), 0.01);  // processes differ by 3 %
  EXPECT_EQ(comparison.first.subject, Subject(Operation::parse("add:count=1024")));
  EXPECT_EQ(comparison.second.subject, Subject(Operation::parse("add:count=2048")));
  EXPECT_DOUBLE_EQ(comparison.first.clock.value().value(), test::kClock);
}

TEST(CompareProcesses, AnAlgorithmIsNamedWhereAllHaveIt) {
  std::vector<RunRecord> processes = processes_of(3, {20.0, 21.0});
  processes[1].entries[1].result.algorithm = "eng7";
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_EQ(comparison.first.algorithm, "eng1");
  EXPECT_EQ(comparison.second.algorithm, "");
}

TEST(CompareProcesses, WithoutClocksThereAreNoCycles) {
  std::vector<RunRecord> processes = processes_of(4, {20.0, 21.0});
  const auto forget = [](RunRecord& process, std::size_t rounds) {
    std::vector<Round>& all = process.entries[1].result.measurements[0].rounds;
    for (std::size_t i = 0; i < rounds; ++i) all[i].clock.reset();
  };
  forget(processes[1], 3);  // the other blocks have theirs
  const Comparison most = only(compared(one_item(), processes));
  ASSERT_TRUE(most.cycles);
  EXPECT_NEAR(most.cycles->ratio, 1.05, 0.005);
  forget(processes[1], 12);
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_FALSE(comparison.cycles);
  EXPECT_EQ(comparison.processes, 4);
}

TEST(CompareProcesses, EachOfMoreAlternativesIsComparedWithTheFirst) {
  const ComparisonRecord record = compared(one_item(4), processes_of(6, {20.0, 21.0, 19.0, 20.0}));
  ASSERT_EQ(record.comparisons.size(), 3u);
  std::vector<EffectVerdict> verdicts;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(record.comparisons[i].alternative, i + 1);
    verdicts.push_back(record.comparisons[i].verdict);
  }
  EXPECT_THAT(verdicts, ElementsAre(EffectVerdict::slower, EffectVerdict::faster, EffectVerdict::same));
  EXPECT_THAT(record.totals, IsEmpty());
}

RunRecord in_two_states(std::uint64_t number) {
  RunRecord process = process_of(number, {20.0, 21.0});
  const RunRecord cold = process_of(number + 100, {30.0, 30.0});
  for (std::size_t alternative = 0; alternative < 2; ++alternative) {
    Measurement more = cold.entries[alternative].result.measurements[0];
    more.conditions.cache = CacheState::cold;
    process.entries[alternative].result.measurements.push_back(more);
  }
  return process;
}

TEST(CompareProcesses, EachCacheStateIsAComparison) {
  const ComparisonRecord record =
      compared(one_item(), {in_two_states(1), in_two_states(2), in_two_states(3), in_two_states(4)});
  ASSERT_EQ(record.comparisons.size(), 2u);
  EXPECT_EQ(record.comparisons[0].first.conditions.cache, CacheState::warm);
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::slower);
  EXPECT_EQ(record.comparisons[1].first.conditions.cache, CacheState::cold);
  EXPECT_EQ(record.comparisons[1].second.conditions.cache, CacheState::cold);
  EXPECT_EQ(record.comparisons[1].verdict, EffectVerdict::same);
  EXPECT_NEAR(record.comparisons[1].first.time.median.value(), 30e3, 2e3);
}

TEST(CompareProcesses, AlternativesMayDifferInTheirCacheState) {
  std::vector<RunRecord> processes = processes_of(4, {20.0, 25.0});
  for (RunRecord& process : processes) {
    process.entries[1].result.measurements[0].conditions.cache = CacheState::cold;
  }
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_EQ(comparison.first.conditions.cache, CacheState::warm);
  EXPECT_EQ(comparison.second.conditions.cache, CacheState::cold);
  EXPECT_EQ(comparison.verdict, EffectVerdict::slower);
}

// One that was interrupted may have rounds of the last state only.
TEST(CompareProcesses, StatesThatAProcessDidNotReachAreNotMistakenForOthers) {
  std::vector<RunRecord> processes = {in_two_states(1), in_two_states(2), in_two_states(3)};
  auto& first = processes[0].entries[0].result.measurements;
  first.erase(first.begin());  // it has cold rounds, and its partner warm ones
  processes[0].entries[1].result.measurements.pop_back();
  const ComparisonRecord record = compared(one_item(), processes);
  ASSERT_EQ(record.comparisons.size(), 2u);
  for (const Comparison& comparison : record.comparisons) {
    EXPECT_EQ(comparison.processes, 2);
    EXPECT_EQ(comparison.first.conditions.cache, comparison.second.conditions.cache);
  }
}

TEST(CompareProcesses, AProcessInWhichOneFailedIsLeftOut) {
  std::vector<RunRecord> processes = processes_of(5, {20.0, 21.0});
  processes[0].entries[1] = failed_entry("add:count=2048", "out of memory");
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_EQ(comparison.failure, "");
  EXPECT_EQ(comparison.processes, 4);
}

TEST(CompareProcesses, WhatFailsEverywhereHasItsReasonAndLeavesTheOthers) {
  std::vector<RunRecord> processes = processes_of(4, {20.0, 21.0, 22.0});
  for (RunRecord& process : processes) process.entries[1] = failed_entry("add:count=2048", "out of memory");
  const ComparisonRecord record = compared(one_item(3), processes);
  ASSERT_EQ(record.comparisons.size(), 2u);
  EXPECT_EQ(record.comparisons[0].failure, "out of memory");
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::undecided);
  EXPECT_EQ(record.comparisons[0].second.subject, Subject(Operation::parse("add:count=2048")));
  EXPECT_EQ(record.comparisons[1].failure, "");
  EXPECT_EQ(record.comparisons[1].verdict, EffectVerdict::slower);
  for (RunRecord& process : processes) process.entries[0] = failed_entry("add:count=1024", "no such engine");
  for (const Comparison& comparison : compared(one_item(3), processes).comparisons) {
    EXPECT_EQ(comparison.failure, "no such engine");
  }
}

// What is found by chance among twenty is no finding.
TEST(CompareProcesses, AVerdictHoldsBesideAllTheOthers) {
  const auto barely = [](std::uint64_t number, bool alone) {
    std::vector<RunEntry> entries;
    for (int item = 0; item < (alone ? 1 : 20); ++item) {
      const std::vector<double> times(12, 20.0);
      // Five ratios whose mean is 2 % and whose standard error is 0.55 %: p = 0.02.
      const double ratio = item == 0 ? 1.02 + 0.0078 * (static_cast<double>(number) - 2.0) : 1.0;
      entries.push_back(entry_of("add:count=1024", {timed(times)}));
      entries.push_back(entry_of("add:count=2048", {timed(std::vector<double>(12, 20.0 * ratio))}));
    }
    return record_of(std::move(entries));
  };
  std::vector<RunRecord> alone, among;
  for (std::uint64_t number = 0; number < 5; ++number) {
    alone.push_back(barely(number, true));
    among.push_back(barely(number, false));
  }
  const Comparison single = only(compared(one_item(), alone));
  EXPECT_THAT(single.p_value, AllOf(Ge(0.01), Le(0.04)));
  EXPECT_EQ(single.verdict, EffectVerdict::slower);
  const ComparisonRecord all = compared({std::vector<RunEntry>(20), 2}, among);
  ASSERT_EQ(all.comparisons.size(), 20u);
  EXPECT_EQ(all.comparisons[0].verdict, EffectVerdict::undecided);
  EXPECT_DOUBLE_EQ(all.comparisons[0].time.low, single.time.low);
  for (std::size_t i = 1; i < 20; ++i) EXPECT_EQ(all.comparisons[i].verdict, EffectVerdict::same);
}

TEST(CompareProcesses, OneProcessHasTheIntervalOfItsBlocks) {
  const Comparison comparison = only(compared(one_item(), processes_of(1, {20.0, 20.6})));
  EXPECT_EQ(comparison.processes, 1);
  EXPECT_EQ(comparison.between, 0.0);
  EXPECT_GT(comparison.within, 0.0);
  EXPECT_NEAR(comparison.time.ratio, 1.03, 0.004);
  EXPECT_EQ(comparison.verdict, EffectVerdict::slower);
}

TEST(CompareProcesses, OneBlockIsNoRatio) {
  const ComparisonRecord record = compared(
      one_item(),
      {record_of({entry_of("add:count=1", {timed({20.0})}), entry_of("add:count=2", {timed({20.0})})})});
  EXPECT_EQ(only(record).failure, "too few rounds beside each other for a ratio");
}

// Only what lies behind the same idle is compared.
TEST(CompareProcesses, ABlockThatOneAlternativeLacksIsNotPaired) {
  std::vector<RunRecord> processes;
  for (int i = 0; i < 3; ++i) {
    // The third block is slow, and the second alternative has no round in it.
    processes.push_back(record_of({entry_of("add:count=1", {timed({20, 20.1, 90, 20})}),
                                   entry_of("add:count=2", {timed({20, 20.1, 0, 20})})}));
  }
  const Comparison comparison = only(compared(one_item(), processes));
  EXPECT_DOUBLE_EQ(comparison.time.ratio, 1.0);
}

TEST(CompareProcesses, ASustainedLoadGivesARatioForEachProcess) {
  const auto sustained = [](double first, double second) {
    const auto all = [](double time) {
      return timed(std::vector<double>(30, time), CacheState::warm, Hertz(test::kClock), Load::sustained);
    };
    return record_of({entry_of("add:count=1", {all(first)}), entry_of("add:count=2", {all(second)})});
  };
  const Comparison comparison =
      only(compared(one_item(), {sustained(20, 20.4), sustained(21, 21.43), sustained(20.5, 20.9)}));
  EXPECT_EQ(comparison.processes, 3);
  EXPECT_NEAR(comparison.time.ratio, 1.02, 0.001);
  ASSERT_TRUE(comparison.cycles);
  EXPECT_NEAR(comparison.cycles->ratio, 1.02, 0.001);
  EXPECT_EQ(only(compared(one_item(), {sustained(20, 20.4)})).failure,
            "too few rounds beside each other for a ratio");
}

TEST(CompareProcesses, WithoutAProcessThereIsNothing) {
  const ComparisonRecord record = compared(one_item(), {});
  EXPECT_THAT(record.comparisons, IsEmpty());
  EXPECT_THAT(record.totals, IsEmpty());
}

}  // namespace
}  // namespace jitterscope
