#include "statistics/effect.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"

namespace jitterscope::statistics {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(HodgesLehmann, IsTheMiddleAndStandsAnOutlier) {
  EXPECT_DOUBLE_EQ(hodges_lehmann(std::vector{1.0, 2.0, 3.0}), 2.0);
  EXPECT_DOUBLE_EQ(hodges_lehmann(std::vector{5.0}), 5.0);
  EXPECT_LT(hodges_lehmann(std::vector{1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 100.0}), 1.2);
  EXPECT_TRUE(std::isnan(hodges_lehmann({})));
}

TEST(EffectOverProcesses, TheProcessIsTheUnit) {
  // Each process is sure of its own value, and they differ: the interval is that of three values.
  const std::vector<std::vector<double>> ratios = {
      {0.01, 0.01, 0.01}, {0.02, 0.02, 0.02}, {0.03, 0.03, 0.03}};
  const auto effect = effect_over_processes(ratios);
  ASSERT_TRUE(effect);
  EXPECT_NEAR(effect->value, 0.02, 1e-12);
  // 4.303 · 0.01 / √3
  EXPECT_NEAR(effect->interval.high - effect->value, 0.02484, 1e-5);
  EXPECT_EQ(effect->processes, 3);
  EXPECT_NEAR(effect->between, 0.01, 1e-12);
  EXPECT_NEAR(effect->within, 0.0, 1e-12);
  // t = 3.464 with two degrees of freedom
  EXPECT_NEAR(effect->p_value, 0.0742, 1e-4);
}

TEST(EffectOverProcesses, OfOneProcessTheBlockIsTheUnit) {
  const auto effect = effect_over_processes(std::vector<std::vector<double>>{{0.0, 0.01, 0.02}});
  ASSERT_TRUE(effect);
  EXPECT_EQ(effect->processes, 1);
  EXPECT_NEAR(effect->value, 0.01, 1e-12);
  EXPECT_NEAR(effect->interval.high - effect->value, 0.02484, 1e-5);
  EXPECT_FALSE(processes_to_decide(*effect, 0.01));
}

TEST(EffectOverProcesses, NothingComesOfNothing) {
  EXPECT_FALSE(effect_over_processes({}));
  EXPECT_FALSE(effect_over_processes(std::vector<std::vector<double>>{{}, {}}));
  EXPECT_FALSE(effect_over_processes(std::vector<std::vector<double>>{{0.5}}));
  EXPECT_EQ(effect_over_processes(std::vector<std::vector<double>>{{0.5}, {}, {0.5}})->processes, 2);
}

// Processes differ by `between`, blocks by 1 %: 95 of 100 intervals hold the effect.
double share_of_intervals_that_hold(double between, int processes) {
  constexpr int kTrials = 4000;
  constexpr double kEffect = 0.02;
  Random random(7);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<std::vector<double>> ratios(static_cast<std::size_t>(processes));
    for (std::vector<double>& blocks : ratios) {
      const double own = kEffect + between * random.normal();
      for (int block = 0; block < 12; ++block) blocks.push_back(own + 0.01 * random.normal());
    }
    const Interval interval = effect_over_processes(ratios)->interval;
    held += interval.low <= kEffect && kEffect <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / kTrials;
}

TEST(EffectOverProcesses, IntervalsHoldTheEffect) {
  for (const double between : {0.0, 0.002, 0.01}) {
    EXPECT_THAT(share_of_intervals_that_hold(between, 8), DoubleNear(0.95, 0.01)) << between;
    EXPECT_THAT(share_of_intervals_that_hold(between, 2), DoubleNear(0.95, 0.01)) << between;
  }
}

TEST(EffectBetweenGroups, IsWelchs) {
  // Means 2 and 4, variances 1 and 4 of three each: error √(5/3), freedom 25/9 / (1/18 + 16/18) = 2.94
  const auto effect = effect_between_groups(std::vector{1.0, 2.0, 3.0}, std::vector{2.0, 4.0, 6.0});
  ASSERT_TRUE(effect);
  EXPECT_DOUBLE_EQ(effect->value, 2.0);
  EXPECT_NEAR(effect->interval.high - 2.0, 3.22 * std::sqrt(5.0 / 3.0), 0.03);
  EXPECT_EQ(effect->processes, 3);
  EXPECT_FALSE(effect_between_groups(std::vector{1.0}, std::vector{2.0, 4.0}));
}

TEST(EffectBetweenGroups, LeavesOutTheEndsAsYuenDoes) {
  // Of the first 1 to 4 are left, whose mean is 2.5. With the ends as their nearest, 1 1 2 3 4 4, the
  // squares' sum is 9.5, over 5.
  const std::vector<double> first = {-90.0, 1.0, 2.0, 3.0, 4.0, 800.0},
                            second = {0.0, 11.0, 12.0, 13.0, 14.0, 15.0};
  const auto effect = effect_between_groups(first, second, {.low = 1.0 / 6.0, .high = 1.0 / 6.0}, 1.0);
  ASSERT_TRUE(effect);
  EXPECT_DOUBLE_EQ(effect->value, 10.0);
  const double error = 1.125 * std::sqrt(9.5 / 5.0) / (4.0 / 6.0 * std::sqrt(6.0)) * std::sqrt(2.0);
  EXPECT_NEAR(effect->interval.high - 10.0, student_critical(0.95, 6.0) * error, 1e-9);
  EXPECT_FALSE(effect_between_groups(std::vector{1.0, 2.0, 3.0}, second, {.low = 0.34, .high = 0.34}, 1.0));
}

TEST(EffectBetweenGroups, WithoutItsEndsItHoldsTheEffectBesideDisturbedValues) {
  constexpr int kTrials = 4000;
  Random random(12);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> first, second;
    const auto value = [&] { return 0.01 * random.normal() + (random.below(10) == 0 ? 0.2 : 0.0); };
    for (int i = 0; i < 16; ++i) first.push_back(value());
    for (int i = 0; i < 16; ++i) second.push_back(0.5 + value());
    const Interval interval =
        effect_between_groups(first, second, {.low = 1.0 / 6.0, .high = 1.0 / 3.0}, 1.0)->interval;
    held += interval.low <= 0.5 && 0.5 <= interval.high ? 1 : 0;
  }
  EXPECT_THAT(static_cast<double>(held) / kTrials, DoubleNear(0.95, 0.015));
}

TEST(EffectBetweenGroups, IntervalsHoldTheEffect) {
  constexpr int kTrials = 4000;
  Random random(11);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> first, second;
    for (int i = 0; i < 8; ++i) first.push_back(0.01 * random.normal());
    for (int i = 0; i < 5; ++i) second.push_back(0.5 + 0.03 * random.normal());
    const Interval interval = effect_between_groups(first, second)->interval;
    held += interval.low <= 0.5 && 0.5 <= interval.high ? 1 : 0;
  }
  EXPECT_THAT(static_cast<double>(held) / kTrials, DoubleNear(0.95, 0.015));
}

Effect effect_of(double value, double half) {
  Effect effect;
  effect.value = value;
  effect.interval = {value - half, value + half};
  effect.processes = 8;
  return effect;
}

TEST(EffectVerdict, SaysWhatIsShown) {
  const auto verdict = [](const Effect& effect) { return verdict_on(effect, 0.01, effect.excludes_zero()); };
  EXPECT_EQ(verdict(effect_of(0.03, 0.01)), EffectVerdict::slower);
  EXPECT_EQ(verdict(effect_of(-0.03, 0.01)), EffectVerdict::faster);
  EXPECT_EQ(verdict(effect_of(0.0, 0.009)), EffectVerdict::same);
  EXPECT_EQ(verdict(effect_of(0.005, 0.001)), EffectVerdict::same);  // shown, and smaller than the margin
  EXPECT_EQ(verdict(effect_of(0.005, 0.02)), EffectVerdict::undecided);
  EXPECT_EQ(verdict_on(effect_of(0.03, 0.01), 0.01, false), EffectVerdict::undecided);
}

TEST(ProcessesToDecide, AreMoreTheCloserTheQuestion) {
  // At eight processes 0.02 is 2.365 standard errors: for half of it about four times as many.
  const auto needed = processes_to_decide(effect_of(0.0, 0.02), 0.01);
  ASSERT_TRUE(needed);
  EXPECT_GE(*needed, 20);
  EXPECT_LE(*needed, 28);
  EXPECT_FALSE(processes_to_decide(effect_of(0.0, 10.0), 0.01));
}

// The number that is advised brings an interval of that width, on the average over groups that were seen.
TEST(ProcessesWithin, OfTwoGroupsCountsTheSpreadOfBoth) {
  const std::vector<double> steady = {0.0, 0.001, -0.001, 0.0005},
                            wide = {0.0, 0.03, -0.03, 0.02, -0.02, 0.01};
  const auto effect = effect_between_groups(steady, wide);
  ASSERT_TRUE(effect);
  const auto needed = processes_within(*effect, 0.01);
  ASSERT_TRUE(needed);
  // 0.0239 in the wide group: 1.96 · 0.0239 / 0.01 squared is 22, and Student's distribution asks for a few
  // more.
  EXPECT_GE(*needed, 22);
  EXPECT_LE(*needed, 28);
  EXPECT_EQ(processes_within(*effect, 1.0), 6);
}

TEST(HolmRejects, GoesUpWhileItMay) {
  EXPECT_THAT(holm_rejects(std::vector{0.01, 0.04, 0.03, 0.005}), ElementsAre(true, false, false, true));
  EXPECT_THAT(holm_rejects(std::vector{0.04}), ElementsAre(true));
  EXPECT_THAT(holm_rejects(std::vector{0.04, 0.04}), ElementsAre(false, false));
  EXPECT_TRUE(holm_rejects({}).empty());
}

}  // namespace
}  // namespace jitterscope::statistics
