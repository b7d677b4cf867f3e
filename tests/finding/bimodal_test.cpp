#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::int64_t kSlowRounds = 9;  // of 25

Measurement two_levels(double time, double clock, std::uint64_t seed, bool has_clock = true) {
  simulated::Record record;
  record.clock_share = 1.0;
  record.spikes = 0;
  record.has_clock = has_clock;
  record.effect = [=](const simulated::RoundPosition& at) {
    const bool slow = at.index * 7 % 25 < kSlowRounds;
    return slow ? simulated::RoundEffect{.time = time, .clock = clock} : simulated::RoundEffect{};
  };
  Measurement measurement = simulated::measure(record, seed);
  measurement.modes = {{milliseconds(1.368), 0.64}, {milliseconds(1.368) * (time / clock), 0.36}};
  return measurement;
}

std::vector<Finding> bimodal(const Measurement& measurement) {
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()), "bimodal");
}

TEST(Bimodal, ListsModesWithWeights) {
  const auto findings = bimodal(two_levels(1.05, 1.0, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("64 % near 1.368 ms, 36 % near 1.436 ms"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "mode_2_s"), 1.4364e-3, 1e-9);
  EXPECT_NEAR(simulated::evidence_number(findings[0], "mode_2_weight_ratio"), 0.36, 1e-9);
}

TEST(Bimodal, WhatIsFixedForAProcessDecidesOnlyWhereEachHasOneMode) {
  Measurement measurement = two_levels(1.05, 1.0, 1);
  EXPECT_THAT(bimodal(measurement).at(0).remedy, HasSubstr("One process has both modes"));
  for (Round& round : measurement.rounds) round.process = round.time() > milliseconds(1.4) ? 1 : 0;
  EXPECT_THAT(bimodal(measurement).at(0).remedy, HasSubstr("Repeat in fresh processes"));
}

TEST(Bimodal, AClockThatSplitsTheSameWayExplainsIt) {
  const auto findings = bimodal(two_levels(1.0, 0.96, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(simulated::evidence_value(findings[0], "clock_explains"), Value(true));
  EXPECT_THAT(findings[0].sentence, HasSubstr("The SM clock explains it: 161"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "slow_clock_hz"), 1612e6 * 0.96, 3e6);
}

TEST(Bimodal, TheClockIsToldFromOtherCausesAtOnePercent) {
  int right = 0;
  constexpr int kTrials = 200;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    right += simulated::evidence_value(bimodal(two_levels(1.0, 0.99, seed)).at(0), "clock_explains") ==
             Value(true);
    right += simulated::evidence_value(bimodal(two_levels(1.01, 1.0, seed)).at(0), "clock_explains") ==
             Value(false);
  }
  EXPECT_GE(right, 2 * kTrials * 9 / 10);
}

TEST(Bimodal, WithoutClocksNothingIsSaidOfThem) {
  const auto findings = bimodal(two_levels(1.05, 1.0, 1, false));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, Not(HasSubstr("explain")));
}

TEST(Bimodal, ModesWithinEveryRoundAreSaidToBeSo) {
  simulated::Record record;
  Measurement measurement = simulated::measure(record, 1);
  measurement.modes = {{milliseconds(1.368), 0.7}, {milliseconds(1.6), 0.3}};
  EXPECT_THAT(bimodal(measurement).at(0).sentence, HasSubstr("alternate within rounds"));
}

TEST(Bimodal, NoLevelIsBelowZero) {
  Measurement measurement = simulated::measure({}, 1);
  measurement.modes = {{microseconds(-20), 0.1}, {milliseconds(1.368), 0.6}, {milliseconds(1.6), 0.3}};
  EXPECT_THAT(bimodal(measurement), IsEmpty());
}

TEST(Bimodal, OneModeIsNone) { EXPECT_THAT(bimodal(simulated::measure({}, 1)), IsEmpty()); }

}  // namespace
}  // namespace jitterscope
