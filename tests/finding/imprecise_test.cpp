#include <gmock/gmock.h>

#include <cmath>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A sequence in [-1, 1] without memory and without trend.
double scattered(std::int64_t index) { return std::sin(2.4 * static_cast<double>(index * index)); }

std::vector<Finding> imprecise(const Measurement& measurement) {
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()), "imprecise");
}
std::string dominated_by(const simulated::Record& record) {
  const auto findings = imprecise(simulated::measure(record, 3));
  return findings.size() == 1 ? simulated::evidence_text(findings[0], "dominated_by") : "";
}

TEST(Imprecise, NamesTheClockWhereCyclesScatterLess) {
  simulated::Record record{.clock_share = 1.0};
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.clock = 1.0 - 0.05 * scattered(at.index)};
  };
  const auto findings = imprecise(simulated::measure(record, 3));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(simulated::evidence_text(findings[0], "dominated_by"), "clock");
  EXPECT_GT(simulated::evidence_number(findings[0], "between_rounds_ratio"), 0.02);
  EXPECT_LT(simulated::evidence_number(findings[0], "cycles_between_rounds_ratio"), 0.005);
  EXPECT_THAT(findings[0].sentence, HasSubstr("would take about"));
}

TEST(Imprecise, TellsADefaultFromWhatTheUserAskedFor) {
  const Result result =
      simulated::result_of({simulated::measure({.round_noise = 0.0, .launch_noise = 0.2}, 3)});
  FindingContext context = simulated::context();
  const Finding missed = simulated::with_id(find_all(result, context), "imprecise").at(0);
  EXPECT_THAT(missed.sentence, HasSubstr("was reached, not the default of ±0.5 % (warm, burst): "));
  EXPECT_THAT(missed.headline, HasSubstr("was reached, not the default of ±0.5 %"));
  context.precision_was_asked = true;
  const Finding asked = simulated::with_id(find_all(result, context), "imprecise").at(0);
  EXPECT_THAT(asked.sentence, HasSubstr("was reached where ±0.5 % was asked for (warm, burst): "));
  EXPECT_THAT(asked.headline, HasSubstr("was reached where ±0.5 % was asked for"));
  EXPECT_EQ(asked.remedy, missed.remedy);
}

TEST(Imprecise, WhatWouldTakeYearsIsNotCountedInSeconds) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = at.index % 2 == 0 ? 1.0 : 400.0};
  };
  const auto findings = imprecise(simulated::measure(record, 3));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("would take longer than a day"));
}

TEST(Imprecise, APrecisionMissedByLittleIsNotPrintedAsReached) {
  Measurement measurement = simulated::measure({.round_noise = 0.0, .launch_noise = 0.2}, 3);
  measurement.precision_asked = 0.999 * measurement.time.precision();
  const auto findings = imprecise(measurement);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("Just over ±"));
}

TEST(Imprecise, AnIntervalThatIsNoPlusMinusIsGivenByItsEnds) {
  Measurement measurement = simulated::measure({.round_noise = 0.0, .launch_noise = 0.2}, 3);
  measurement.time = {microseconds(25), microseconds(25), microseconds(104), 20};
  measurement.stop_reason = StopReason::time_limit;
  const Finding finding = imprecise(measurement).at(0);
  EXPECT_THAT(finding.sentence,
              testing::StartsWith("The interval is 25–104 µs, not the default of ±0.5 % ("));
  EXPECT_THAT(finding.headline, testing::StartsWith("the interval is 25–104 µs, not"));
}

TEST(Imprecise, TheSameCauseHasTheSameRemedy) {
  const auto slower = imprecise(simulated::measure({.round_noise = 0.0, .launch_noise = 0.2}, 3));
  const auto faster =
      imprecise(simulated::measure({.time = Nanoseconds(5000), .round_noise = 0.0, .launch_noise = 0.3}, 3));
  ASSERT_THAT(slower, SizeIs(1));
  ASSERT_THAT(faster, SizeIs(1));
  EXPECT_NE(slower[0].sentence, faster[0].sentence);
  EXPECT_EQ(slower[0].remedy, faster[0].remedy);
}

TEST(Imprecise, NamesTheClockWhereItHasTwoStates) {
  simulated::Record record{.clock_share = 1.0};
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.clock = at.index * 7 % 25 < 9 ? 0.95 : 1.0};
  };
  EXPECT_EQ(dominated_by(record), "clock");
}

TEST(Imprecise, NamesRoundsWhereTheClockDoesNotExplainThem) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1.0 + 0.05 * scattered(at.index)};
  };
  EXPECT_EQ(dominated_by(record), "between_rounds");
}

TEST(Imprecise, NamesLaunchesWithinRounds) {
  EXPECT_EQ(dominated_by({.round_noise = 0.0, .launch_noise = 0.2}), "within_rounds");
}

TEST(Imprecise, NamesTheGrain) {
  EXPECT_EQ(dominated_by({.time = Nanoseconds(1300), .launches = 2, .grain = Nanoseconds(64)}), "grain");
}

TEST(Imprecise, NamesDrift) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1.0 + 0.1 * at.progress};
  };
  EXPECT_EQ(dominated_by(record), "drift");
}

TEST(Imprecise, NamesModesThatTheClockDoesNotExplain) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = scattered(at.index) > 0 ? 1.0 : 1.05};
  };
  Measurement measurement = simulated::measure(record, 3);
  measurement.modes = {{milliseconds(1.368), 0.5}, {milliseconds(1.436), 0.5}};
  const auto findings = imprecise(measurement);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(simulated::evidence_text(findings[0], "dominated_by"), "modes");
}

TEST(Imprecise, ALoadThatNeverSettledIsLeftToItsOwnFinding) {
  simulated::Record record{.rounds = 4};
  record.conditions.load = Load::sustained;
  Measurement measurement = simulated::measure(record, 3);
  ASSERT_THAT(imprecise(measurement), SizeIs(1));
  measurement.steadiness->verdict = Steadiness::Verdict::never_steady;
  EXPECT_THAT(imprecise(measurement), IsEmpty());
}

TEST(Imprecise, NamesTooFewRounds) {
  const auto findings = imprecise(simulated::measure({.rounds = 4}, 3));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("only 4 rounds fitted into the time limit"));
  EXPECT_THAT(imprecise(simulated::measure({.rounds = 1}, 3)).at(0).sentence,
              HasSubstr("only 1 round fitted"));
}

TEST(Imprecise, RoundsThatRememberMakeTheIntervalTooNarrow) {
  simulated::Record record{.rounds = 60};
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1.0 + 0.008 * std::sin(0.6 * static_cast<double>(at.index))};
  };
  const Measurement measurement = simulated::measure(record, 3);
  ASSERT_EQ(measurement.stop_reason, StopReason::precision);
  const auto findings = imprecise(measurement);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("not independent"));
  const double honest = simulated::evidence_number(findings[0], "precision_honest_ratio");
  EXPECT_GT(honest, 0.005);
  // What is about as wide already is not called too narrow: both would be printed alike.
  Measurement wide = measurement;
  wide.time.low = wide.time.median * (1.0 - honest / 1.1);
  wide.time.high = wide.time.median * (1.0 + honest / 1.1);
  EXPECT_THAT(imprecise(wide), IsEmpty());
}

TEST(Imprecise, TheCauseOfATwoPercentScatterIsRightNineTimesInTen) {
  const auto rate = [](double of_time, double of_clock, const std::string& expected) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      simulated::Record record{
          .rounds = 20, .round_noise = of_time, .clock_noise = of_clock, .clock_share = 1.0};
      Measurement measurement = simulated::measure(record, seed);
      measurement.stop_reason = StopReason::time_limit;
      measurement.precision_asked = 0.001;
      const auto findings = imprecise(measurement);
      right += !findings.empty() && simulated::evidence_text(findings[0], "dominated_by") == expected;
    }
    return right;
  };
  EXPECT_GE(rate(0.001, 0.01, "clock"), 90);
  EXPECT_GE(rate(0.01, 0.001, "between_rounds"), 90);
}

TEST(Imprecise, APrecisionReachedIsNone) { EXPECT_THAT(imprecise(simulated::measure({}, 3)), IsEmpty()); }

}  // namespace
}  // namespace jitterscope
