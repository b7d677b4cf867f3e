// What a gate judges, and how records of several processes that were measured apart are compared.
#include "experiment/gate.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"
#include "experiment/processes.hpp"
#include "experiment/simulated_processes.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using testing::ElementsAre;
using testing::SizeIs;

constexpr test::Spread kSteady{.process = 0.002, .block = 0.0, .round = 0.0005, .ratio = 0.0};

// Eight processes, as one record. What processes differ by is drawn by number, so that two records have
// others.
RunRecord record_of_processes(const std::vector<double>& trials, std::uint64_t first_number,
                              const test::Spread& spread = kSteady) {
  std::vector<RunRecord> processes;
  for (std::uint64_t i = 0; i < 8; ++i) {
    processes.push_back(test::process_of(first_number + i, trials, spread));
  }
  return combine_processes(std::move(processes));
}

ComparisonRecord gated(const RunRecord& baseline, const RunRecord& now, double margin = 0.02) {
  ComparisonRecord record = test::blank_comparison();
  record.margin = margin;
  compare_as_gate(baseline, now, record);
  return record;
}

GateVerdict verdict_of(double ratio) {
  return gate_verdict(gated(record_of_processes({20.0}, 1), record_of_processes({20.0 * ratio}, 101)));
}

TEST(Gate, TheProcessIsTheUnitOnBothSides) {
  const ComparisonRecord record = gated(record_of_processes({20.0}, 1), record_of_processes({20.0}, 101));
  ASSERT_THAT(record.comparisons, SizeIs(1));
  const Comparison& comparison = record.comparisons[0];
  EXPECT_EQ(comparison.processes, 8);
  EXPECT_EQ(comparison.verdict, EffectVerdict::same);
  ASSERT_TRUE(comparison.cycles);
  // Welch: t(≈14) · 0.2 % · √(2/8)
  EXPECT_NEAR((comparison.time.high - comparison.time.low) / 2.0, 2.14 * 0.002 * 0.5, 0.001);
}

TEST(Gate, VerdictsFollowTheRatio) {
  EXPECT_EQ(verdict_of(1.0), GateVerdict::same);
  EXPECT_EQ(verdict_of(1.01), GateVerdict::same);
  EXPECT_EQ(verdict_of(1.05), GateVerdict::slower);
  EXPECT_EQ(verdict_of(0.95), GateVerdict::faster);
}

TEST(Gate, WhatItLetsPassIsNoSlowdown) {
  const RunRecord baseline = record_of_processes({20.0}, 1), now = record_of_processes({20.3}, 101);
  ComparisonRecord compared = test::blank_comparison();
  compared.margin = 0.016;
  compare_records(baseline, {&now, 1}, compared);
  ASSERT_EQ(compared.comparisons[0].verdict, EffectVerdict::slower) << "of compare: an interval above zero";
  ASSERT_EQ(compared.comparisons[0].process_ratios.size(), 8u);
  for (const double ratio : compared.comparisons[0].process_ratios) EXPECT_NEAR(ratio, 1.015, 0.02);
  const ComparisonRecord record = gated(baseline, now, compared.margin);
  EXPECT_EQ(record.comparisons[0].verdict, EffectVerdict::undecided);
  ASSERT_TRUE(record.comparisons[0].processes_to_decide);
  EXPECT_GT(*record.comparisons[0].processes_to_decide, 8);
  const ComparisonRecord beyond = gated(baseline, record_of_processes({21.0}, 101));
  EXPECT_EQ(beyond.comparisons[0].verdict, EffectVerdict::slower);
}

// What a gate is for: it does not cry without a cause.
TEST(Gate, SeldomCriesWithoutACause) {
  constexpr std::uint64_t kGates = 300;
  int cries = 0;
  for (std::uint64_t i = 0; i < kGates; ++i) {
    const test::Spread wide{.process = 0.02, .block = 0.0, .round = 0.0005, .ratio = 0.0};
    const ComparisonRecord record = gated(record_of_processes({20.0}, 1000 + 16 * i, wide),
                                          record_of_processes({20.0}, 1008 + 16 * i, wide));
    cries += gate_verdict(record) == GateVerdict::slower ? 1 : 0;
  }
  EXPECT_LE(cries, 8) << "one in a hundred, and three standard deviations";
}

TEST(Gate, OfANetworkTheTotalDecides) {
  RunRecord baseline = record_of_processes({100.0, 20.0}, 1), now = record_of_processes({100.0, 24.0}, 101);
  for (RunRecord* record : {&baseline, &now}) {
    record->entries[0].layers = {"conv1"};
    record->entries[1].layers = {"relu"};
    record->entries[0].count = 10;
  }
  const ComparisonRecord record = gated(baseline, now);
  const std::vector<GateCase> cases = gate_cases(record);
  ASSERT_THAT(cases, SizeIs(1));
  EXPECT_EQ(cases[0].verdict, EffectVerdict::same);
  EXPECT_NEAR(cases[0].time.ratio, 1024.0 / 1020.0, 0.003);
  ASSERT_TRUE(cases[0].baseline_clock);
  EXPECT_NEAR(*cases[0].baseline_clock / Hertz(test::kClock), 1.0, 1e-6);
  ASSERT_TRUE(cases[0].cycles);
}

// A benchmark that was deleted, or whose case has another name, is no pass.
TEST(Gate, WhatIsNotThereAnyMoreFails) {
  const RunRecord baseline = record_of_processes({100.0, 20.0}, 1);
  RunRecord now = record_of_processes({100.0}, 101);
  const ComparisonRecord record = gated(baseline, now);
  EXPECT_EQ(gate_verdict(record), GateVerdict::failed);
  const std::vector<GateCase> cases = gate_cases(record);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].verdict, EffectVerdict::same);
  EXPECT_EQ(cases[1].name, to_string(baseline.entries[1].result.subject));
  EXPECT_THAT(cases[1].failure, testing::HasSubstr("not measured now"));
  EXPECT_EQ(cases[1].baseline.median, baseline.entries[1].result.measurements[0].time.median);
  now.interrupted = true;
  EXPECT_THAT(gate_cases(gated(baseline, now)), SizeIs(1));
}

// Two processes know little of what processes differ by; a number below those of the other side is no advice.
TEST(Gate, AsksForAsManyProcessesAsTheLargerSideHasAtLeast) {
  const test::Spread wide{.process = 0.01, .block = 0.0, .round = 0.0005, .ratio = 0.0};
  const auto of_processes = [&](std::uint64_t count, double time, std::uint64_t first_number) {
    std::vector<RunRecord> processes;
    for (std::uint64_t i = 0; i < count; ++i)
      processes.push_back(test::process_of(first_number + i, {time}, wide));
    return combine_processes(std::move(processes));
  };
  int undecided = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const ComparisonRecord record =
        gated(of_processes(2, 20.0, 1000 + 100 * i), of_processes(8, 20.2, 1050 + 100 * i));
    if (record.comparisons[0].verdict != EffectVerdict::undecided) continue;
    ++undecided;
    EXPECT_GE(record.comparisons[0].processes_to_decide.value_or(8), 8);
  }
  EXPECT_GE(undecided, 10);
}

TEST(Gate, WhatHasNoTimeAnyMoreFails) {
  RunRecord baseline = record_of_processes({100.0, 20.0}, 1), now = record_of_processes({100.0, 20.0}, 101);
  now.entries[1].result.measurements.clear();
  now.entries[1].result.failure = "cuDNN has no engine for it";
  const ComparisonRecord record = gated(baseline, now);
  EXPECT_EQ(gate_verdict(record), GateVerdict::failed);
  EXPECT_EQ(gate_verdict(test::blank_comparison()), GateVerdict::failed);
  EXPECT_EQ(gate_verdict(GateOutcome{record, "lost"}), GateVerdict::failed);
  ComparisonRecord interrupted = test::blank_comparison();
  interrupted.interrupted = true;
  EXPECT_EQ(gate_verdict(interrupted), GateVerdict::interrupted);
}

GateCase with(EffectVerdict verdict, RatioEstimate cycles, double clock_after) {
  GateCase each;
  each.verdict = verdict;
  each.cycles = cycles;
  each.baseline_clock = Hertz(1.98e9);
  each.clock = Hertz(clock_after);
  return each;
}

TEST(Gate, AClockThatMovedIsCalledThat) {
  const RatioEstimate same{1.001, 0.995, 1.007}, more{1.12, 1.10, 1.14}, wide{1.0, 0.9, 1.1};
  const auto move = clock_move(with(EffectVerdict::slower, same, 1.755e9), 0.02);
  ASSERT_TRUE(move);
  EXPECT_DOUBLE_EQ(move->after.value(), 1.755e9);
  EXPECT_TRUE(clock_move(with(EffectVerdict::faster, same, 2.1e9), 0.02));
  EXPECT_FALSE(clock_move(with(EffectVerdict::slower, more, 1.755e9), 0.02)) << "the work grew";
  EXPECT_FALSE(clock_move(with(EffectVerdict::slower, wide, 1.755e9), 0.02)) << "nobody knows";
  EXPECT_FALSE(clock_move(with(EffectVerdict::slower, same, 1.979e9), 0.02)) << "the clock is the same";
  EXPECT_FALSE(clock_move(with(EffectVerdict::same, same, 1.755e9), 0.02)) << "nothing changed";
}

TEST(Gate, OneOperationThatIsCalledSeveralTimesIsJudgedByAllItsCalls) {
  RunRecord record = record_of_processes({20.0}, 1);
  record.entries[0].count = 12;
  for (int i = 0; i < 12; ++i) record.entries[0].layers.push_back("h." + std::to_string(i));
  const std::vector<GateCase> cases = gate_cases(gated(record, record));
  ASSERT_THAT(cases, SizeIs(1));
  EXPECT_NEAR(cases[0].now.median.value(), 240e3, 5e3);
  EXPECT_EQ(cases[0].verdict, EffectVerdict::same);
}

}  // namespace
}  // namespace jitterscope
