// What a person is told of a study, by what was measured.
#include "study/answers.hpp"

#include <gmock/gmock.h>

namespace jitterscope::study {
namespace {

using statistics::EffectVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

Comparison comparison_of(std::size_t alternative, double ratio, EffectVerdict verdict, double error = 1e-4,
                         bool passed = true) {
  Comparison comparison;
  comparison.alternative = alternative;
  comparison.first.subject = Operation(Matmul{.m = 8, .n = 8, .k = 8});
  comparison.second = comparison.first;
  comparison.time = {ratio, ratio * 0.99, ratio * 1.01};
  comparison.verdict = verdict;
  comparison.second.verification = Verification{.relative_error = error, .tolerance = 2e-3, .passed = passed};
  return comparison;
}

ComparisonRecord record_of(std::vector<Comparison> comparisons) {
  ComparisonRecord record;
  record.alternatives = {"f32", "bf16", "f16"};
  record.comparisons = std::move(comparisons);
  return record;
}

// The answer, with arms that say what to write.
Sentences answer(const ComparisonRecord& record) {
  std::vector<Arm> arms;
  for (const std::string& name : record.alternatives)
    arms.push_back({.name = name, .apply = {}, .remedy = {{}, "Write " + name + "."}});
  return answer_by_fastest({record, arms});
}

TEST(Answers, ASpeedIsAPercentageOrAFactor) {
  EXPECT_EQ(speed_against({0.4, 0.39, 0.41}, "f32"), "faster than f32: 1/2.5 of the time (1/2.6 to 1/2.4)");
  EXPECT_EQ(speed_against({0.8, 0.78, 0.82}, "f32"), "faster than f32: -20.0 % (-22.0 to -18.0 %)");
  EXPECT_EQ(speed_against({1.2, 1.1, 1.3}, "f32"), "slower than f32: +20 % (+10 to +30 %)");
  EXPECT_EQ(speed_against({3.0, 2.9, 3.1}, "f32"), "slower than f32: 3.0 times as long (2.9 to 3.1)");
}

TEST(Answers, TheFastestComesFirstWithItsErrorAndHowToGetIt) {
  const auto answers = answer(record_of({comparison_of(1, 0.5, EffectVerdict::faster, 3e-3),
                                         comparison_of(2, 0.4, EffectVerdict::faster, 4e-4)}));
  EXPECT_THAT(
      answers,
      ElementsAre(
          "**f16 is faster than f32: 1/2.50 of the time (1/2.53 to 1/2.48)**, with a relative error of "
          "4.0e-04.",
          "Write f16."));
}

// f16 and bf16 differ by 0.02 % that are chance: whichever seed makes the one or the other the fastest, the
// one with the smaller error is recommended.
TEST(Answers, OfArmsThatAreAsFastTheMoreExactOneIsRecommended) {
  const auto answers_of = [](double bf16, double f16) {
    Comparison first = comparison_of(1, bf16, EffectVerdict::faster, 3e-3),
               second = comparison_of(2, f16, EffectVerdict::faster, 4e-4);
    first.process_ratios = {bf16 * 1.001, bf16 * 0.999, bf16 * 1.002, bf16 * 0.998};
    second.process_ratios = {f16 * 0.999, f16 * 1.001, f16 * 0.998, f16 * 1.002};
    return answer(record_of({first, second}));
  };
  for (const double f16 : {0.3999, 0.4001}) {
    EXPECT_THAT(answers_of(0.4, f16),
                ElementsAre(HasSubstr("f16 is faster than f32"),
                            "As fast, not told apart from it: bf16, with a relative error of 3.0e-03.",
                            "Write f16."));
  }
  EXPECT_THAT(answers_of(0.36, 0.4), ElementsAre(HasSubstr("bf16 is faster than f32"), "Write bf16."));
}

// Intervals of 2 % where no process's ratios are known, as of a network's total.
TEST(Answers, OfArmsThatAreAsExactTheShorterRemedyIsRecommended) {
  const auto record = record_of({comparison_of(1, 0.4, EffectVerdict::faster, 0.0),
                                 comparison_of(2, 0.401, EffectVerdict::faster, 0.0)});
  const std::vector<Arm> arms = {{.name = "f32", .apply = {}},
                                 {.name = "bf16", .apply = {}, .remedy = {{"one", "two"}}},
                                 {.name = "f16", .apply = {}, .remedy = {{"one"}}}};
  const StudyResult result{record, arms};
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  EXPECT_EQ(recommended_of(result, outcomes)->name, "f16");
}

TEST(Answers, WhatComputesSomethingElseDoesNotWin) {
  const auto answers = answer(record_of({comparison_of(1, 0.5, EffectVerdict::faster),
                                         comparison_of(2, 0.4, EffectVerdict::faster, 0.7, false)}));
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_THAT(answers[0], StartsWith("**bf16 is faster than f32: 1/2.00 of the time"));
  EXPECT_EQ(answers[2], "f16 gives a wrong result (relative error 7.0e-01), so its time does not count.");
}

TEST(Answers, NothingFasterAndNothingDecidedAreNotTheSame) {
  EXPECT_THAT(answer(record_of({comparison_of(1, 1.0, EffectVerdict::same),
                                comparison_of(2, 1.3, EffectVerdict::slower)})),
              ElementsAre(HasSubstr("leave it as it is")));
  EXPECT_THAT(answer(record_of({comparison_of(1, 1.0, EffectVerdict::undecided),
                                comparison_of(2, 1.3, EffectVerdict::slower)})),
              ElementsAre(HasSubstr("not everything is decided")));
}

TEST(Answers, OfSeveralOperationsTheAnswerCountsThem) {
  const auto answers = answer(
      record_of({comparison_of(1, 0.9, EffectVerdict::faster), comparison_of(1, 0.5, EffectVerdict::faster),
                 comparison_of(1, 1.1, EffectVerdict::slower)}));
  EXPECT_THAT(answers.front(),
              StartsWith("**bf16 is faster than f32 for 2 of 3 operations**, at best 1/2.00 of the time"));
}

TEST(Answers, OfANetworkTheTotalDecides) {
  ComparisonRecord record = record_of({comparison_of(1, 0.5, EffectVerdict::faster, 1e-3),
                                       comparison_of(1, 2.0, EffectVerdict::slower, 2e-3)});
  record.totals = {
      TotalComparison{.alternative = 1, .time = {1.25, 1.24, 1.26}, .verdict = EffectVerdict::slower}};
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(outcomes[0].time.ratio, 1.25);
  EXPECT_EQ(outcomes[0].error, 2e-3);  // the largest of all layers
  EXPECT_THAT(answer(record), ElementsAre(StartsWith("**Nothing is faster")));
}

TEST(Answers, OtherConditionsDoNotCount) {
  Comparison cold = comparison_of(1, 0.5, EffectVerdict::faster);
  cold.first.conditions.cache = CacheState::cold;
  EXPECT_THAT(arm_outcomes(record_of({comparison_of(1, 1.0, EffectVerdict::same), cold})), SizeIs(1));
}

TEST(Answers, WhatRanInEachArmIsSaidOfOneOperation) {
  ComparisonRecord record =
      record_of({comparison_of(1, 0.5, EffectVerdict::faster), comparison_of(2, 0.9, EffectVerdict::faster)});
  EXPECT_THAT(what_ran(record), testing::IsEmpty());
  record.comparisons[0].first.algorithm = "32 registers";
  record.comparisons[0].second.algorithm = "64 registers";
  record.comparisons[1].first.algorithm = "32 registers";
  EXPECT_THAT(what_ran(record), ElementsAre("f32: 32 registers; bf16: 64 registers."));
  record.comparisons.push_back(record.comparisons[0]);
  EXPECT_THAT(what_ran(record), testing::IsEmpty()) << "of another operation";
}

TEST(Answers, NothingIsSaidOfWhatHasNoTime) {
  Comparison failed = comparison_of(1, 0.5, EffectVerdict::faster);
  failed.failure = "out of memory";
  EXPECT_THAT(answer(record_of({failed})), ElementsAre("Nothing was compared with f32."));
}

}  // namespace
}  // namespace jitterscope::study
