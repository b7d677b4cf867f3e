// Sentences say what the numbers say.
#include "explain/conclusions.hpp"

#include <gmock/gmock.h>

namespace jitterscope::explain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

FactorResult idle(double time, std::optional<double> clock = std::nullopt) {
  FactorResult factor{.id = "idle",
                      .cause = "an idle before the loop",
                      .usual = "10 ms idle",
                      .remedy = "Keep the device busy.",
                      .verdict = FactorVerdict::cause};
  DoseEffect dose{.dose = "400 ms idle", .time = {time, time, time}, .blocks = 10};
  if (clock) dose.clock = RatioEstimate{*clock, *clock, *clock};
  factor.doses.push_back(dose);
  return factor;
}

Explanation with(const FactorResult& factor) {
  Explanation explanation;
  explanation.factors.push_back(factor);
  explanation.blocks = 10;
  return explanation;
}

TEST(Conclusions, ACauseHasItsEffectItsDoseAndARemedy) {
  EXPECT_THAT(
      conclusions_of(with(idle(1.083))),
      ElementsAre(
          "An idle before the loop: a launch takes 8.3 % longer with 400 ms idle than with 10 ms idle. "
          "Keep the device busy."));
  EXPECT_THAT(conclusions_of(with(idle(4.2))).front(),
              HasSubstr("a launch takes 4.2 times as long with 400 ms idle as with 10 ms idle."));
  EXPECT_THAT(conclusions_of(with(idle(0.919))).front(),
              HasSubstr("takes 8.1 % less time with 400 ms idle than"));
}

TEST(Conclusions, WorkThatBecomesSlowerIsSaidFirst) {
  Explanation explanation = with(idle(1.083));
  explanation.observation.drift = 0.31;
  EXPECT_THAT(
      conclusions_of(explanation).front(),
      HasSubstr("becomes slower as it goes on: a launch takes 31.0 % longer in the last third of the plain "
                "loops than in the first. Look for what grows"));
  explanation.observation.drift = 1.3;
  EXPECT_THAT(conclusions_of(explanation).front(),
              HasSubstr("takes 2.3 times as long in the last third of the plain loops as in the first"));
  explanation.observation.drift = -0.2;
  EXPECT_THAT(conclusions_of(explanation).front(),
              HasSubstr("becomes faster as it goes on: a launch takes 20.0 % less time in the last third"));
}

TEST(Conclusions, TheClockTellsHowAFactorActs) {
  EXPECT_THAT(conclusions_of(with(idle(1.08, 0.92))).front(), HasSubstr("; the clock is 8.0 % lower"));
  EXPECT_THAT(conclusions_of(with(idle(0.92, 1.083))).front(), HasSubstr("; the clock is 8.3 % higher"));
  EXPECT_THAT(conclusions_of(with(idle(1.08, 1.001))).front(), HasSubstr("; the clock stays"));
  EXPECT_THAT(conclusions_of(with(idle(1.08))).front(), Not(HasSubstr("the clock")));
}

TEST(Conclusions, TheDeviceSaysWhatHeldItsClock) {
  FactorResult factor = idle(1.08, 0.92);
  factor.held_clock = HeldClock{.by_power = 0.62, .by_heat = 0.0};
  EXPECT_THAT(
      conclusions_of(with(factor)).front(),
      HasSubstr("8.0 % lower; the power cap held the clock down for 62 % of that time, and heat did not."));
  factor.held_clock->is_plain = true;
  EXPECT_THAT(conclusions_of(with(factor)).front(), HasSubstr("in the plain loop the power cap held"));
  factor.held_clock = HeldClock{.by_power = 0.0, .by_heat = 0.3};
  EXPECT_THAT(conclusions_of(with(factor)).front(),
              HasSubstr("heat held the clock down for 30 % of that time"));
  factor.held_clock = HeldClock{.by_power = 0.0, .by_heat = 0.0};
  EXPECT_THAT(conclusions_of(with(factor)).front(), Not(HasSubstr("held")));
}

TEST(Conclusions, NothingShownIsSaid) {
  FactorResult factor = idle(1.001);
  factor.verdict = FactorVerdict::unresolved;
  EXPECT_THAT(
      conclusions_of(with(factor)),
      ElementsAre(HasSubstr("Nothing that was switched"),
                  "Neither shown to be a cause nor cleared: idle; more time would tell (--max-time)."));
  EXPECT_THAT(conclusions_of(Explanation()), testing::IsEmpty());
}

TEST(Conclusions, WhatWasNotTriedHasTheFlagThatTriesIt) {
  Explanation explanation = with(idle(1.1));
  for (const char* id : {"heap", "row_stride"})
    explanation.factors.push_back({.id = id, .verdict = FactorVerdict::left_out});
  EXPECT_EQ(
      conclusions_of(explanation).back(),
      "Not tried, for want of time: heap, row_stride. `--factors heap,row_stride` tries nothing else, and "
      "--max-time gives time for all.");
}

TEST(Conclusions, WhatCannotBeToldApartIsNamedTogether) {
  FactorResult factor = idle(1.1);
  factor.id = "load";
  factor.not_told_from = {"power", "temperature"};
  EXPECT_THAT(conclusions_of(with(factor)).back(),
              HasSubstr("by which of these load acts: power, temperature"));
}

TEST(Conclusions, RestsTellPowerFromTheRest) {
  FactorResult factor = idle(0.9);
  const auto said = [&](RestedEffect at_low_duty) {
    factor.at_low_duty = at_low_duty;
    return conclusions_of(with(factor)).front();
  };
  EXPECT_THAT(said({{0.999, 0.997, 1.001}, {}}), HasSubstr("power makes it, and not the arithmetic"));
  EXPECT_THAT(said({{0.9, 0.89, 0.91}, {}}), HasSubstr("it is not power that makes it"));
  EXPECT_THAT(said({{0.9, 0.89, 0.91}, {{1.0, 0.999, 1.001}}}), HasSubstr("it is not power that makes it"));
  EXPECT_THAT(said({{0.9, 0.89, 0.91}, {{1.1, 1.09, 1.11}}}),
              HasSubstr("a limit of power that acts at once"));
  EXPECT_THAT(said({{0.95, 0.94, 0.96}, {}}), HasSubstr("power makes a part of it"));
  EXPECT_THAT(
      said({{0.95, 0.94, 0.96}, {}}),
      HasSubstr("with rests that leave 5 % of the time for work the change is -5.0 % (-6.0 to -4.0 %)"));
}

TEST(Conclusions, SpreadsAndVariationHaveTheirShares) {
  Explanation explanation = with(idle(1.1));
  explanation.random_factors = {
      {.id = "process", .cause = "the process", .deviation = 0.003, .low = 0.002, .high = 0.005, .levels = 5},
      {.id = "placement", .cause = "places", .deviation = 0.001, .low = 0.0, .high = 0.002, .levels = 9}};
  explanation.observation.shares = {{.variation = Variation::position, .share = 0.1},
                                    {.variation = Variation::clock, .share = 0.7},
                                    {.variation = Variation::loop, .share = 0.0},
                                    {.variation = Variation::rest, .share = 0.2}};
  explanation.observation.between_stretches = 0.011;
  EXPECT_THAT(
      conclusions_of(explanation),
      ElementsAre(
          "In loops, each after a rest, the time varies by 1.1 % (standard deviation of the medians of launches 1, 2–3, 4–7, …), "
          "mostly with the clock: it accounts for 70 % of that variance, and 20 % is unexplained.",
          HasSubstr("An idle"), HasSubstr("The process moves the time by 0.3 %")));
  explanation.observation.shares.back().share = 0.9;
  EXPECT_THAT(conclusions_of(explanation).front(),
              HasSubstr("4–7, …); most of that variance (90 %) goes with nothing"));
  explanation.observation.shares.front().share = 0.3;
  explanation.observation.shares[1].share = 0.2;
  explanation.observation.shares.back().share = 0.4;
  EXPECT_THAT(conclusions_of(explanation).front(),
              HasSubstr("4–7, …); 40 % of that variance goes with nothing"));
  explanation.observation.between_stretches = 0.0;
  EXPECT_THAT(conclusions_of(explanation), testing::SizeIs(2)) << "what does not vary has no shares";
}

// That loops differ explains nothing, so it is unexplained, too.
TEST(Conclusions, CountWhatDiffersBetweenLoopsAsUnexplained) {
  Explanation explanation = with(idle(1.1));
  explanation.observation.shares = {{.variation = Variation::position, .share = 0.5},
                                    {.variation = Variation::loop, .share = 0.28},
                                    {.variation = Variation::rest, .share = 0.22}};
  explanation.observation.between_stretches = 0.011;
  EXPECT_THAT(
      conclusions_of(explanation).front(),
      HasSubstr(
          "the launch's place in its loop: it accounts for 50 % of that variance, and 50 % is unexplained"));
  explanation.observation.shares[0].share = 0.3;
  explanation.observation.shares[1].share = 0.48;
  EXPECT_THAT(
      conclusions_of(explanation).front(),
      HasSubstr("most of that variance (70 %) goes with nothing that was seen beside them: 48 % of it "
                "differs from loop to loop, 22 % within loops."));
}

// Every 10th of 1.036 ms among 150.8 us is 239 us, whatever a first call took.
TEST(Conclusions, TellTheMeanThatTheRecurringCallsHave) {
  Explanation explanation = with(idle(1.1));
  explanation.observation.recurrence = Recurrence{10, 1, microseconds(150.8), microseconds(1036)};
  explanation.observation.mean = microseconds(688);
  EXPECT_THAT(
      conclusions_of(explanation),
      Contains(HasSubstr("every 10th call takes 1.036 ms, the others 150.8 µs, 239.3 µs on average.")));
}

}  // namespace
}  // namespace jitterscope::explain
