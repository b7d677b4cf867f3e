// What is taken of what was tried, and what a person is told.
#include "study/advice.hpp"

#include <gmock/gmock.h>

namespace jitterscope::study {
namespace {

using statistics::EffectVerdict;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct Found {
  std::string study, arm;
  double ratio;
  double error = 1e-4;
  bool passed = true;
  std::optional<double> memory = {};
};

Comparison comparison_of(std::size_t alternative, const Found& found, double half_width) {
  Comparison comparison;
  comparison.alternative = alternative;
  comparison.first.subject = Operation(Matmul{.m = 8, .n = 8, .k = 8});
  comparison.first.time.median = microseconds(100);
  comparison.second = comparison.first;
  comparison.second.time.median = microseconds(100) * found.ratio;
  comparison.time = {found.ratio, found.ratio - half_width, found.ratio + half_width};
  comparison.verdict = comparison.time.high < 1.0  ? EffectVerdict::faster
                       : comparison.time.low > 1.0 ? EffectVerdict::slower
                                                   : EffectVerdict::same;
  comparison.second.verification =
      Verification{.relative_error = found.error, .tolerance = 2e-3, .passed = found.passed};
  return comparison;
}

std::vector<TriedRemedy> judged(const std::vector<Found>& all, const AdviceLimits& limits = {},
                                double half_width = 0.002) {
  ComparisonRecord record;
  record.alternatives = {"before"};
  std::vector<Candidate> candidates;
  for (const Found& found : all) {
    record.alternatives.push_back(remedy_name(found.study, found.arm));
    record.comparisons.push_back(comparison_of(record.alternatives.size() - 1, found, half_width));
    candidates.push_back({found.study, found.arm, found.memory});
  }
  return judge(record, candidates, limits);
}

std::vector<std::string> outcomes_of(const std::vector<TriedRemedy>& remedies) {
  std::vector<std::string> words;
  for (const TriedRemedy& remedy : remedies) {
    words.push_back(remedy.arm + ' ' + std::string(to_string(remedy.outcome)));
  }
  return words;
}

TEST(Advice, TheGreatestGainIsTaken) {
  EXPECT_THAT(outcomes_of(judged({{"layout", "nhwc", 0.8},
                                  {"precision", "f16", 0.4},
                                  {"engine", "autotune", 1.1},
                                  {"graph", "graph", 1.0}})),
              ElementsAre("f16 taken", "nhwc beaten", "graph no gain", "autotune slower"));
}

TEST(Advice, OfGainsThatAreAlikeTheMoreExactIsTaken) {
  EXPECT_THAT(outcomes_of(judged({{"precision", "bf16", 0.400, 3e-3}, {"precision", "f16", 0.402, 4e-4}})),
              ElementsAre("bf16 beaten", "f16 taken"));
}

TEST(Advice, AGainThatMayBeWithinTheMarginIsNone) {
  // 1.2 % in the middle, and perhaps 0.8 %.
  EXPECT_THAT(outcomes_of(judged({{"layout", "nhwc", 0.988}}, {.margin = 0.01}, 0.004)),
              ElementsAre("nhwc no gain"));
  EXPECT_THAT(outcomes_of(judged({{"layout", "nhwc", 0.988}}, {.margin = 0.01}, 0.001)),
              ElementsAre("nhwc taken"));
}

TEST(Advice, WhatIsInexactOrWrongIsNotTaken) {
  EXPECT_THAT(outcomes_of(judged({{"precision", "bf16", 0.3, 3e-3},
                                  {"layout", "nhwc", 0.2, 0.7, false},
                                  {"precision", "tf32", 0.9, 3e-4}},
                                 {.tolerance = 1e-3})),
              ElementsAre("nhwc wrong", "bf16 too inexact", "tf32 taken"));
}

// As a block size, or fast math, of a kernel that names no reference.
TEST(Advice, WhatNobodyComparedIsNotTaken) {
  ComparisonRecord record;
  record.alternatives = {"before", "compiler fast_math=1", "graph"};
  record.comparisons = {comparison_of(1, {"compiler", "fast_math=1", 0.5}, 0.002),
                        comparison_of(2, {"graph", "graph", 0.9}, 0.002)};
  for (Comparison& comparison : record.comparisons) comparison.second.verification.reset();
  record.comparisons[0].second.subject = Operation(Matmul{.m = 8, .n = 8, .k = 8, .dtype = DataType::f16});
  AdviceRecord advice;
  const TriedRemedy* taken =
      add_step(advice, record, {{"compiler", "fast_math=1", {}}, {"graph", "graph", {}}});
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->arm, "graph") << "the same operation, launched otherwise";
  EXPECT_THAT(outcomes_of(advice.steps.back().remedies),
              ElementsAre("fast_math=1 not compared", "graph taken"));
  EXPECT_THAT(
      conclusions_of(advice).back(),
      HasSubstr(
          "compiler fast_math=1 is faster than before: 1/2.00 of the time (1/2.01 to 1/1.99), but its result "
          "was not compared, so it is not taken"));
  advice.device.capabilities.is_simulated = true;
  EXPECT_THAT(conclusions_of(advice).back(), HasSubstr("a simulated GPU runs no kernel"));
}

TEST(Advice, OfMemoryTheSmallestIsTakenThatIsNotSlower) {
  const AdviceLimits limits{.goal = Goal::memory};
  EXPECT_THAT(outcomes_of(judged({{"precision", "f64", 3.0, 0.0, true, 2.0},
                                  {"precision", "f16", 0.9, 4e-4, true, 0.5},
                                  {"layout", "nhwc", 0.2, 0.0, true, 1.0}},
                                 limits)),
              ElementsAre("f16 taken", "nhwc no gain", "f64 slower"));
  EXPECT_THAT(outcomes_of(judged({{"precision", "f16", 1.5, 4e-4, true, 0.5}}, limits)),
              ElementsAre("f16 slower"));
}

TEST(Advice, WhatHasNoTimeComesLastWithTheReason) {
  ComparisonRecord record;
  record.alternatives = {"before", "layout nhwc", "graph"};
  record.comparisons = {comparison_of(1, {"layout", "nhwc", 1.0}, 0.002), Comparison{}};
  record.comparisons[0].failure = "out of memory";
  record.comparisons[1] = comparison_of(2, {"graph", "graph", 0.5}, 0.002);
  const auto remedies = judge(record, {{"layout", "nhwc", {}}, {"graph", "graph", {}}}, {});
  EXPECT_THAT(outcomes_of(remedies), ElementsAre("graph taken", "nhwc failed"));
  EXPECT_EQ(remedies[1].failure, "out of memory");
}

AdvisedLayer layer_of(double microseconds_each, std::int64_t count) {
  AdvisedLayer layer;
  layer.count = count;
  layer.subject = Operation(Matmul{.m = count});
  layer.time.median = microseconds(microseconds_each);
  return layer;
}

TEST(Advice, RemediesAreTriedWhereTheTimeIs) {
  std::vector<AdvisedLayer> layers = {layer_of(1, 5), layer_of(10, 3), layer_of(60, 1), layer_of(5, 1)};
  choose_layers(layers, 0.85, 10);
  std::vector<double> shares;
  std::vector<bool> tried;
  for (const AdvisedLayer& layer : layers) {
    shares.push_back(layer.share);
    tried.push_back(layer.is_tried);
  }
  EXPECT_THAT(shares, ElementsAre(0.6, 0.3, 0.05, 0.05));
  EXPECT_THAT(tried, ElementsAre(true, true, false, false));
  choose_layers(layers, 0.85, 1);
  EXPECT_FALSE(layers[1].is_tried);
}

AdviceRecord record_with(const Found& found) {
  AdviceRecord record;
  record.recommendations = {{found.study, found.arm, "In PyTorch", {}, ""}};
  record.together.emplace();
  record.together->alternatives = {"as it is", "with all that was taken"};
  record.together->comparisons = {comparison_of(1, found, 0.002)};
  return record;
}

TEST(Advice, TheAnswerIsTheSumThatWasMeasured) {
  const auto sentences = conclusions_of(record_with({"precision", "f16", 0.4, 4e-4}));
  ASSERT_THAT(sentences, SizeIs(1));
  EXPECT_THAT(
      sentences[0],
      AllOf(
          HasSubstr("**With precision f16 it is faster than before: 1/2.50 of the time (1/2.51 to 1/2.49)**"),
          HasSubstr("largest relative error of a result 4.0e-04 (3355 ulp of f32)")));
}

// A sum of a part of the work is not the whole's: each sentence says of what it speaks.
TEST(Advice, SentencesNameThePartThatTheyAreOf) {
  AdviceRecord record = record_with({"precision", "f16", 0.4, 4e-4});
  record.layers = {layer_of(100, 3), layer_of(10, 2), layer_of(1, 1)};
  const auto compared = [&](const std::vector<std::size_t>& layers, double ratio) {
    ComparisonRecord comparison = *record.together;
    comparison.comparisons.clear();
    for (const std::size_t layer : layers) {
      Comparison& each =
          comparison.comparisons.emplace_back(comparison_of(1, {"precision", "f16", ratio}, 0.002));
      each.first.subject = record.layers[layer].subject;
      each.count = record.layers[layer].count;
    }
    return comparison;
  };
  record.together = compared({0, 1, 2}, 0.4);
  record.sustained = compared({0, 1}, 0.9);
  std::vector<std::string> sentences = conclusions_of(record);
  EXPECT_THAT(sentences.front(), HasSubstr("measured together over all 3 operations (6 calls)"));
  EXPECT_THAT(sentences.back(),
              HasSubstr("limits the clock, the 2 longest of 3 operations (5 of 6 calls) are "
                        "faster than before: -10.00 %"));
  record.sustained = compared({0}, 0.9);
  EXPECT_THAT(conclusions_of(record).back(),
              HasSubstr("the longest of 3 operations (3 of 6 calls) is faster"));
  record.together = compared({0, 2}, 0.4);
  EXPECT_THAT(conclusions_of(record).front(), HasSubstr("over the 2 of 3 operations (4 of 6 calls)"))
      << "a longer one has no time";
}

TEST(Advice, AMachineThatChangedMeanwhileIsNamed) {
  AdviceRecord record = record_with({"graph", "graph", 0.4});
  record.layers.resize(1);
  record.steps.emplace_back().comparison = *record.together;
  EXPECT_THAT(conclusions_of(record), SizeIs(1));
  record.steps.front().comparison.comparisons.front().first.time.median = microseconds(150);
  ASSERT_THAT(conclusions_of(record), SizeIs(2));
  EXPECT_THAT(conclusions_of(record)[1],
              AllOf(HasSubstr("took 150.0 µs at first and 100.0 µs at the end"), HasSubstr("(+50.0 %)")));
  record.layers.resize(2);
  EXPECT_THAT(conclusions_of(record), SizeIs(1)) << "steps try some layers, and the sum is of all";
}

TEST(Advice, WhatTheSumWasNotComparedWithTheStepsWere) {
  AdviceRecord record = record_with({"precision", "f16", 0.4});
  record.together->comparisons.front().second.verification.reset();
  record.steps.emplace_back().remedies = judged({{"layout", "nhwc", 0.9, 5e-4}});
  record.steps.emplace_back().remedies =
      judged({{"precision", "f16", 0.4, 4e-4}, {"precision", "bf16", 0.5, 9e-4}});
  EXPECT_THAT(conclusions_of(record).front(),
              HasSubstr("largest relative error of a result in its steps 5.0e-04"));
}

TEST(Advice, WhereNothingGainsItIsLeftAsItIs) {
  AdviceRecord record;
  EXPECT_THAT(conclusions_of(record), ElementsAre(HasSubstr("No study applies")));
  record.steps.emplace_back().remedies = judged({{"layout", "nhwc", 1.0}});
  EXPECT_THAT(conclusions_of(record), ElementsAre(HasSubstr("leave it as it is")));
}

TEST(Advice, WhatTheToleranceRefusedIsNamed) {
  AdviceRecord record;
  record.tolerance = 1e-4;
  record.steps.emplace_back().remedies =
      judged({{"precision", "f16", 0.4, 4e-4}}, {.tolerance = record.tolerance});
  EXPECT_THAT(
      conclusions_of(record),
      ElementsAre(
          HasSubstr("leave it as it is"),
          "precision f16 is faster than before: 1/2.50 of the time (1/2.51 to 1/2.49), and its error of "
          "4.0e-04 is above the 0.01 % that is allowed (--tolerance)."));
}

TEST(Advice, ArmsThatAnInterruptionLeftOutSaySo) {
  ComparisonRecord record;
  record.alternatives = {"before", "graph"};
  EXPECT_EQ(judge(record, {{"graph", "graph", {}}}, {}).front().failure, "no time");
  record.interrupted = true;
  EXPECT_EQ(judge(record, {{"graph", "graph", {}}}, {}).front().failure, "interrupted before it had a time");
}

TEST(Advice, OfAStepThatDidNotEndNothingIsTaken) {
  ComparisonRecord record;
  record.alternatives = {"before", "precision f16", "graph"};
  record.comparisons = {comparison_of(1, {"precision", "f16", 0.5}, 0.002),
                        comparison_of(2, {"graph", "graph", 1.2}, 0.002)};
  record.interrupted = true;
  AdviceRecord advice;
  advice.interrupted = true;
  EXPECT_EQ(add_step(advice, record, {{"precision", "f16", {}}, {"graph", "graph", {}}}), nullptr);
  EXPECT_THAT(outcomes_of(advice.steps.back().remedies), ElementsAre("f16 unfinished", "graph slower"));
  EXPECT_THAT(conclusions_of(advice), ElementsAre(HasSubstr("interrupted in step 1, whose remedies")));
  // The budget was over after the first of three processes.
  record.interrupted = false;
  record.processes_asked = 3;
  for (Comparison& comparison : record.comparisons) comparison.processes = 1;
  EXPECT_TRUE(is_unfinished(record));
  AdviceRecord ended;
  EXPECT_EQ(add_step(ended, record, {{"precision", "f16", {}}, {"graph", "graph", {}}}), nullptr);
  EXPECT_THAT(conclusions_of(ended),
              ElementsAre(AllOf(HasSubstr("the time was over in step 1"), HasSubstr("--budget"))));
  for (Comparison& comparison : record.comparisons) comparison.processes = 2;
  EXPECT_FALSE(is_unfinished(record));
}

TEST(Advice, AfterAnInterruptionOnlyWhatWasMeasuredIsSaid) {
  AdviceRecord record;
  record.layers = {layer_of(90, 1), layer_of(10, 2)};
  choose_layers(record.layers, 0.8, 2);
  record.interrupted = true;
  record.recommendations.push_back({"precision", "f16", {}, {}, {}});
  record.steps.emplace_back().remedies = judged({{"precision", "f16", 0.8}});
  record.steps.emplace_back().comparison.interrupted = true;
  EXPECT_THAT(
      conclusions_of(record),
      ElementsAre(
          AllOf(HasSubstr("precision f16 is faster than before"),
                HasSubstr("over the 1 of 2 operations that it was tried on**; the whole work was not")),
          "Interrupted in step 2: what its remedies would add is not known."));
}

TEST(Advice, WhatWasInterruptedIsNotKnown) {
  AdviceRecord record;
  record.interrupted = true;
  EXPECT_THAT(conclusions_of(record), ElementsAre(HasSubstr("interrupted before")));
}

TEST(Advice, TimesTogetherAreForTheSameWork) {
  ComparisonRecord record = *record_with({"batch", "×4", 0.5}).together;
  record.works = {1.0, 4.0};
  EXPECT_EQ(*time_together(record, 0), microseconds(100));
  EXPECT_EQ(*time_together(record, 1), microseconds(12.5));
  EXPECT_FALSE(time_together(record, 2));
}

TEST(Advice, NamesAreSaidOnce) {
  EXPECT_EQ(remedy_name("precision", "f16"), "precision f16");
  EXPECT_EQ(remedy_name("graph", "graph"), "graph");
}

}  // namespace
}  // namespace jitterscope::study
