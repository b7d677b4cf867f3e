// Steps that are there are found, as many as there are; where there are none, none are.
#include "timeline/steps.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <tuple>

#include "jitterscope/error.hpp"
#include "timeline/made_timeline.hpp"
#include "timeline/series.hpp"

namespace jitterscope::timeline {
namespace {

using test::MadeProgram;

Steps steps_of(const MadeProgram& program) {
  const Timeline timeline = test::make_timeline(program);
  return find_steps(timeline.processes[0], timeline.processes[0].devices[0]);
}

TEST(Steps, OfATrainingAreFoundBehindItsWarmUp) {
  const Steps steps = steps_of({.steps = 200});
  ASSERT_TRUE(steps.were_found()) << steps.reason;
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 24u);
  EXPECT_LE(steps.kinds[0].interval.low, steps.kinds[0].seconds);
  EXPECT_GE(steps.kinds[0].interval.high, steps.kinds[0].seconds);
}

TEST(Steps, HoldAllLayersOfANetworkAndNotOneEach) {
  const Steps steps = steps_of({.steps = 60, .kernels = 12, .layers = 24, .head = 5});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 60.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 12u * 24u + 5u);
}

// The host launches each layer late, and the step later still.
TEST(Steps, HoldAllLayersAlsoWhereEachBeginsBehindAGap) {
  const Steps steps = steps_of(
      {.steps = 300, .kernels = 5, .layers = 6, .head = 3, .step_gap_us = 40.0, .layer_gap_us = 15.0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_EQ(steps.kinds[0].work, 33u);
}

// Each kernel runs many times a step, none once, in an order without a pattern: sequences of them recur.
TEST(Steps, AreFoundWhereNoKernelComesOnceAStep) {
  Timeline timeline = test::make_timeline({.steps = 0, .warm_up = 12'000});
  Process& process = timeline.processes[0];
  DeviceWork& work = process.devices[0];
  Random random(3);
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < 300; ++i) order.push_back(static_cast<std::uint32_t>(random.below(20)));
  Time later = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    work.what[i] = order[i % order.size()];
    if (i % order.size() == 100) later += 50'000;  // the program begins its steps here
    work.begin[i] += later;
    work.end[i] += later;
  }
  const Steps steps = find_steps(process, work);
  ASSERT_EQ(steps.kinds.size(), 1u) << steps.reason;
  EXPECT_EQ(steps.kinds[0].work, 300u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 40.0, 2.0);
  EXPECT_EQ(steps.steps.front().first % order.size(), 100u);
}

TEST(Steps, ThatDifferInACopyAreOfOneKind) {
  const Steps steps = steps_of({.steps = 200, .copy_slows = 0.0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
}

TEST(Steps, OfTwoKindsAreToldApart) {
  const Steps steps = steps_of({.steps = 640, .prefill_every = 64});
  ASSERT_EQ(steps.kinds.size(), 2u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 640.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 24u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[1].count), 10.0, 1.0);
  EXPECT_EQ(steps.kinds[1].work, 40u);
}

// One kernel again and again: how many of them are a step is the program's secret.
TEST(Steps, AreNotInventedInAPlainLoop) {
  const Steps steps = steps_of({.steps = 500, .kernels = 1, .warm_up = 0});
  EXPECT_FALSE(steps.were_found());
  EXPECT_THAT(steps.reason, testing::HasSubstr("the same kernel comes again and again"));
}

TEST(Steps, AreLaunchesOfAGraphAndNotWhatRepeatsInIt) {
  for (const std::size_t kernels : {1u, 3u}) {
    const Steps steps = steps_of({.steps = 200, .kernels = kernels, .layers = 30, .as_graphs = true});
    ASSERT_EQ(steps.kinds.size(), 1u) << steps.reason;
    EXPECT_EQ(steps.kinds[0].work, 30 * kernels);
    EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
  }
}

// Work without an order, whatever its gaps are.
TEST(Steps, AreNotInventedWhereNothingRepeats) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const Steps steps = steps_of({.seed = seed, .steps = 0, .warm_up = 5000});
    EXPECT_FALSE(steps.were_found());
    EXPECT_FALSE(steps.reason.empty());
    EXPECT_EQ(steps.other_work, 5001u);
  }
}

TEST(Steps, AreNotInventedFromFour) { EXPECT_FALSE(steps_of({.steps = 4, .warm_up = 0}).were_found()); }

TEST(Steps, AreNotInventedWhereTheyAreTheSmallerPart) {
  EXPECT_FALSE(steps_of({.steps = 10, .warm_up = 5000}).were_found());
}

TEST(Steps, OfNothing) {
  Process process;
  EXPECT_FALSE(find_steps(process, {}).were_found());
}

// A step in which something was not recorded counts no time.
TEST(Steps, AreWholeWithinOneWindowOnly) {
  Timeline timeline = test::make_timeline({.steps = 300});
  Process& process = timeline.processes[0];
  const Span all = process.devices[0].span();
  const Time middle = all.begin + all.length() / 2, tenth = all.length() / 10;
  process.windows = {{{all.begin, middle}, capture::Detail::light},
                     {{middle, middle + tenth}, capture::Detail::off},
                     {{middle + tenth, all.end}, capture::Detail::light}};
  const Steps steps = find_steps(process, process.devices[0]);
  ASSERT_TRUE(steps.were_found());
  for (const Step& step : steps.steps) {
    const bool touches = step.end > middle && step.begin < middle + tenth;
    EXPECT_EQ(step.is_whole, !touches);
  }
  EXPECT_LT(steps.kinds[0].count, steps.steps.size());
}

TEST(Steps, OfRangesBeginWithTheRange) {
  Timeline timeline = test::make_timeline({.steps = 100});
  Process& process = timeline.processes[0];
  const DeviceWork& work = process.devices[0];
  for (std::size_t i = 0; i < 10; ++i) {
    process.ranges.push_back({"iteration", {work.begin[50 + 100 * i], work.begin[60 + 100 * i]}});
  }
  const Steps steps = steps_of_ranges(process, work, "iteration");
  ASSERT_EQ(steps.steps.size(), 9u);
  EXPECT_EQ(steps.steps[0].first, 50u);
  EXPECT_EQ(steps.steps[0].last, 150u);
  try {
    steps_of_ranges(process, work, "epoch");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("iteration"));
  }
}

// The interval of a step's median holds what the program would take without noise, though its kernels drift.
TEST(Steps, IntervalOfTheirMedianHoldsInProgramsThatDrift) {
  std::size_t held = 0;
  constexpr std::uint64_t kPrograms = 200;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    MadeProgram program{.seed = seed, .steps = 300, .kernels = 6, .noise = 0.0};
    const double truth = steps_of(program).kinds.at(0).seconds;
    program.noise = 0.003;
    program.drift = 0.01;
    const StepKind found = steps_of(program).kinds.at(0);
    if (found.interval.low <= truth && truth <= found.interval.high) ++held;
  }
  EXPECT_GE(held, kPrograms * 93 / 100);
  EXPECT_LT(held, kPrograms);
}

std::vector<double> drifting(std::size_t size, double alike, Random& random) {
  std::vector<double> values{random.normal()};
  while (values.size() < size)
    values.push_back(alike * values.back() + std::sqrt(1 - alike * alike) * random.normal());
  return values;
}

// Blocks of steps tell how neighbours drift together: order statistics of all would be far too narrow.
TEST(MedianOfSeries, HoldsForSeriesWhoseNeighboursAreAlike) {
  constexpr std::size_t kTries = 500;
  Random random(5);
  for (const auto& [length, alike] :
       {std::pair(20u, 0.0), {100u, 0.5}, {300u, 0.0}, {300u, 0.9}, {2000u, 0.9}, {5000u, 0.95}}) {
    std::size_t held = 0;
    for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
      const MedianOfSeries series = median_of_series(drifting(length, alike, random));
      if (series.interval.low <= 0.0 && 0.0 <= series.interval.high) ++held;
    }
    EXPECT_GE(held, kTries * 92 / 100) << length << " values, neighbours alike by " << alike;
    EXPECT_LT(held, kTries) << length << " values, neighbours alike by " << alike;
  }
}

TEST(ShareOfSeries, HoldsForSeriesWhoseNeighboursAreAlike) {
  constexpr std::size_t kTries = 300;
  Random random(6);
  for (const auto& [length, alike, truth] :
       {std::tuple(100u, 0.0, 0.3), {300u, 0.0, 0.7}, {300u, 0.9, 0.7}, {2000u, 0.9, 0.95}}) {
    std::size_t held = 0;
    for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
      const std::vector<double> cause = drifting(length, alike, random),
                                other = drifting(length, alike, random);
      std::vector<double> values;
      for (std::size_t i = 0; i < length; ++i)
        values.push_back(std::sqrt(truth) * cause[i] + std::sqrt(1 - truth) * other[i]);
      const ShareOfSeries share = share_of_series(cause, values);
      if (share.interval.low <= truth && truth <= share.interval.high) ++held;
    }
    EXPECT_GE(held, kTries * 93 / 100) << length << " values, neighbours alike by " << alike;
    EXPECT_LT(held, kTries) << length << " values, neighbours alike by " << alike;
  }
}

}  // namespace
}  // namespace jitterscope::timeline
