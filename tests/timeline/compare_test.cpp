// Two captures beside each other: what was put into the second is what is said of it.
#include "timeline/compare.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "commands/capture/comparison_table.hpp"
#include "timeline/made_timeline.hpp"

namespace jitterscope::timeline {
namespace {

using test::MadeProgram;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<AnalysedCapture> captures_of(const std::vector<MadeProgram>& programs) {
  std::vector<AnalysedCapture> captures;
  for (const MadeProgram& program : programs) {
    Timeline timeline = test::make_timeline(program);
    Analysis analysis = analyse(timeline, {});
    captures.push_back({std::move(timeline), std::move(analysis)});
  }
  return captures;
}

// A step of five kernels, whose lengths are the seed's.
constexpr MadeProgram kProgram{.seed = 1, .steps = 200, .kernels = 5, .warm_up = 0};

CaptureComparison compared(const MadeProgram& first, const MadeProgram& second) {
  return compare_captures(captures_of({first}), captures_of({second}));
}

std::string text_of(const CaptureComparison& comparison) {
  std::string text = capture_comparison_text(comparison, {.width = 100});
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What is shown of the sides and what is said to lie between them is one and the same.
void expect_fits(const TimeChange& change) {
  ASSERT_TRUE(change.effect);
  EXPECT_NEAR(std::exp(change.effect->value), change.second / change.first, 1e-9);
}

TEST(CompareCaptures, OfALevelThatChangedComparesItsLaterSteps) {
  MadeProgram slower = kProgram;
  slower.slower_from = 120;
  slower.slower = 0.1;
  const CaptureComparison comparison = compared(kProgram, slower);
  ASSERT_TRUE(comparison.has_steps);
  expect_fits(comparison.step);
  expect_fits(comparison.busy);
  EXPECT_NEAR(comparison.busy.second / comparison.busy.first, 1.1, 0.003);
  ASSERT_EQ(comparison.changes.size(), 5u);
  for (const WorkChange& change : comparison.changes) {
    expect_fits(change.time);
    EXPECT_TRUE(change.is_shown);
    EXPECT_NEAR(change.time.second / change.time.first, 1.1, 0.003);
  }
  ASSERT_EQ(comparison.parts.size(), 1u);
  ASSERT_TRUE(comparison.parts[0].levels);
  EXPECT_EQ(comparison.parts[0].levels->step, 120u);
  EXPECT_THAT(text_of(comparison),
              AllOf(HasSubstr("5 of 5 kernels that both ran take another time in a step"),
                    HasSubstr("from step 121 on a step takes"), Not(HasSubstr("not shown"))));
}

// Names take the room that numbers leave: 80 columns left 15 to them, and 120 cut what had room.
TEST(CompareCaptures, NamesTakeTheRoomThatIsLeft) {
  const std::string name =
      "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64";
  CaptureComparison comparison;
  comparison.changes.resize(1);
  WorkChange& change = comparison.changes.front();
  change.name = {.name = name, .grid = {132, 1, 1}};
  change.same_shape = false;
  change.first_calls = 6.0;
  change.second_calls = 3.0;
  change.time = {196e-6, 190e-6, statistics::Effect{.value = -0.031, .interval = {-0.033, -0.029}}};
  change.is_shown = true;
  const std::string wide = capture_comparison_text(comparison, {.width = 160});
  EXPECT_THAT(wide, HasSubstr("| " + name + " [132], another shape |"));
  const std::string narrow = capture_comparison_text(comparison, {.width = 80});
  EXPECT_THAT(narrow, AllOf(HasSubstr("| sm90_xmma_fprop_implicit_gemm_"), HasSubstr(" -3.05 ± 0.19 % |")));
  EXPECT_THAT(capture_comparison_text(comparison, {.width = 100}).lines(),
              AllOf(HasSubstr("| 3, was 6 |"), Not(HasSubstr("Left out"))));
}

// Blocks of a program that drifts are like their neighbours: without that, intervals are too narrow.
TEST(CompareCaptures, IntervalsHoldWhereNothingChanged) {
  std::size_t held = 0;
  constexpr std::uint64_t kPairs = 300;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    // The lengths of kernels are drawn from the seed: the same for both, and other noise behind them.
    MadeProgram first{.seed = i + 1, .steps = 140, .kernels = 3, .noise = 0.001, .drift = 0.01, .warm_up = 0};
    MadeProgram second = first;
    second.warm_up = 7;
    const CaptureComparison comparison = compared(first, second);
    ASSERT_TRUE(comparison.step.effect);
    if (!comparison.step.effect->excludes_zero()) ++held;
  }
  EXPECT_GE(held, kPairs * 90 / 100);
  EXPECT_LT(held, kPairs);
}

TEST(CompareCaptures, MovesNothingThatIsNotShown) {
  MadeProgram same = kProgram;
  same.warm_up = 7;
  const std::string text = text_of(compared(kProgram, same));
  EXPECT_THAT(text,
              AllOf(HasSubstr("0 of 5 kernels that both ran"), Not(ContainsRegex("[+-][0-9.]+ [nµ]s \\|"))));
}

// A kernel that the second alone runs is told with its share, wherever it runs.
TEST(CompareCaptures, TellsAKernelOfOneSideBesideTheSteps) {
  for (const bool at_random : {false, true}) {
    MadeProgram more = kProgram;
    more.extra_every = 10;
    more.extra_at_random = at_random;
    const CaptureComparison comparison = compared(kProgram, more);
    ASSERT_TRUE(comparison.has_steps) << at_random;
    EXPECT_NEAR(comparison.step.second / comparison.step.first, 1.0, 0.01) << at_random;
    ASSERT_EQ(comparison.only_second.size(), 1u) << at_random;
    EXPECT_EQ(comparison.only_second[0].name.name, "kernel_5");
    EXPECT_NEAR(static_cast<double>(comparison.only_second[0].calls), 20.0, 8.0);
    EXPECT_GT(comparison.only_second[0].share, 0.005);
    EXPECT_TRUE(comparison.only_first.empty());
    EXPECT_GT(comparison.second_beside, 0.0) << at_random;
    EXPECT_THAT(text_of(comparison),
                AllOf(HasSubstr("Only in the second: 1 kernel"), HasSubstr("kernel_5 [132]")));
  }
}

// Ten steps with something behind the tenth are compared with one, and it is said which.
TEST(CompareCaptures, TakesTheRepetitionThatBothHave) {
  MadeProgram more = kProgram;
  more.extra_every = 10;
  more.step_gap_us = 0.0;  // nothing shows where a step begins
  MadeProgram plain = kProgram;
  plain.step_gap_us = 0.0;
  const std::vector<AnalysedCapture> second = captures_of({more});
  ASSERT_TRUE(second[0].analysis.devices[0].steps.repetition);
  const CaptureComparison comparison = compare_captures(captures_of({plain}), second);
  EXPECT_NEAR(comparison.step.second / comparison.step.first, 1.0, 0.02);
  ASSERT_EQ(comparison.parts.size(), 1u);
  EXPECT_NEAR(comparison.parts[0].within.value_or(0.0), 10.0, 0.6);
  EXPECT_THAT(text_of(comparison), HasSubstr("what repeats within its steps, 10 times in each"));
}

// Without steps on a side, both sides' work is told of the whole, and calls are compared.
TEST(CompareCaptures, WithoutStepsTellsTheSameOfBothSides) {
  MadeProgram none = kProgram;
  none.steps = 0;
  none.warm_up = 1000;
  const CaptureComparison comparison = compared(kProgram, none);
  EXPECT_FALSE(comparison.has_steps);
  EXPECT_NEAR(comparison.first_total / comparison.second_total, 1.0, 0.1);  // 200 · 5 kernels and 1000
  for (const WorkChange& change : comparison.changes)
    EXPECT_NEAR(change.time.second / change.time.first, 1.0, 0.01);
}

TEST(CompareCaptures, SaysThatStepsDoDifferentWork) {
  MadeProgram other = kProgram;
  other.kernels = 24;
  EXPECT_THAT(text_of(compared(kProgram, other)), HasSubstr("**The steps do different work**"));
}

}  // namespace
}  // namespace jitterscope::timeline
