// What a person is told of studies of kernels.
#include <gmock/gmock.h>

#include <array>

#include "support/study_answers.hpp"

namespace jitterscope::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(KernelStudyAnswers, WhatResultsWereComparedWithIsSaidWhereNoReferenceIsNamed) {
  ComparisonRecord record;
  record.alternatives = {"as typed", "fast_math=1"};
  Comparison comparison;
  comparison.first.subject = Operation::parse("cuda:@saxpy:saxpy,grid=1,block=64,y=out:f32[8]");
  comparison.alternative = 1;
  comparison.time = {0.5, 0.49, 0.51};
  comparison.verdict = statistics::EffectVerdict::faster;
  record.comparisons = {comparison};
  EXPECT_THAT(
      answers_to("compiler", record),
      ElementsAre(HasSubstr("fast_math=1 is faster than as typed: 1/2.00"), HasSubstr("-use_fast_math"),
                  AllOf(HasSubstr("No results were compared"), HasSubstr("reference=KERNEL"))));
  record.comparisons[0].second.verification = Verification{.relative_error = 1e-6, .passed = true};
  EXPECT_THAT(answers_to("compiler", record).back(),
              AllOf(HasSubstr("those of as typed alone"), HasSubstr("reference=KERNEL")));
  record.comparisons[0].first.subject =
      Operation::parse("cuda:@saxpy:saxpy,reference=right,grid=1,block=64,y=out:f32[8]");
  EXPECT_THAT(answers_to("compiler", record), SizeIs(2));
}

TEST(KernelStudyAnswers, CompilerSaysWhatCodeForAnOlderGpuCosts) {
  ComparisonRecord record;
  record.alternatives = {"as typed", "architecture=80"};
  Comparison comparison;
  comparison.alternative = 1;
  comparison.time = {1.5, 1.49, 1.51};
  comparison.verdict = statistics::EffectVerdict::slower;
  comparison.second.verification = Verification{.passed = true};
  comparison.second.algorithm = "32 registers, 100 % occupancy, code for 8.0";
  record.comparisons = {comparison};
  EXPECT_THAT(answers_to("compiler", record),
              ElementsAre(HasSubstr("Nothing is faster than as typed"),
                          AllOf(HasSubstr("(architecture=80) is slower than as typed: +50.0"),
                                HasSubstr("-arch=native")),
                          "architecture=80: 32 registers, 100 % occupancy, code for 8.0."));
  record.comparisons[0].verdict = statistics::EffectVerdict::faster;
  EXPECT_THAT(answers_to("compiler", record)[1], HasSubstr("-arch=compute_80"));
}

TEST(KernelStudyAnswers, OnASimulatedGpuAKernelsArmsCannotDiffer) {
  ComparisonRecord record;
  record.device.capabilities.is_simulated = true;
  for (const char* id : {"tiling", "waves", "access", "compiler", "occupancy"}) {
    EXPECT_THAT(answers_to(id, record), ElementsAre(HasSubstr("simulated"))) << id;
  }
  Comparison& comparison = record.comparisons.emplace_back();
  comparison.first.subject = Operation::parse("cuda:@saxpy:saxpy,grid=1,block=64,y=out:f32[8]");
  for (const auto& [id, first, second] : {std::array{"compiler", "as typed", "fast_math=1"},
                                          std::array{"occupancy", "block=64", "block=128"}}) {
    record.alternatives = {first, second};
    EXPECT_THAT(answers_to(id, record), ElementsAre(HasSubstr("simulated"), HasSubstr("reference=KERNEL")))
        << id;
  }
}

TEST(KernelStudyAnswers, TheDearestWaveIsNamed) {
  ComparisonRecord record;
  record.alternatives = {"1 wave", "1.01 waves", "2 waves"};
  for (const std::size_t alternative : {1, 2}) {
    Comparison comparison;
    comparison.alternative = alternative;
    const double ratio = alternative == 1 ? 1.9 : 1.001;
    comparison.time = {ratio, ratio * 0.99, ratio * 1.01};
    comparison.verdict =
        alternative == 1 ? statistics::EffectVerdict::slower : statistics::EffectVerdict::same;
    record.comparisons.push_back(comparison);
  }
  EXPECT_THAT(answers_to("waves", record),
              ElementsAre(HasSubstr("1.01 waves is slower than 1 wave: +90.0"), HasSubstr("whole waves")));
  record.comparisons.erase(record.comparisons.begin());
  EXPECT_THAT(answers_to("waves", record), ElementsAre(HasSubstr("costs nothing")));
}

TEST(KernelStudyAnswers, TheHierarchyIsToldByItsLevels) {
  ComparisonRecord record;
  record.alternatives = {"L1: latency", "L2: latency", "L2, far half: latency", "L1: bandwidth"};
  const auto side = [](double nanoseconds, Amount amount) {
    ComparedSide made;
    made.time.median = Nanoseconds(nanoseconds);
    made.amount = amount;
    return made;
  };
  const ComparedSide first = side(2000, {Amount::Unit::loads, 100});
  const ComparedSide others[] = {side(15000, {Amount::Unit::loads, 100}),
                                 side(30000, {Amount::Unit::loads, 100}),
                                 side(1000, {Amount::Unit::bytes, 30e6})};
  for (std::size_t i = 0; i < 3; ++i) {
    Comparison comparison;
    comparison.alternative = i + 1;
    comparison.first = first;
    comparison.second = others[i];
    record.comparisons.push_back(comparison);
  }
  const std::vector<std::string> answers = answers_to("hierarchy", record);
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_THAT(answers[0], testing::AllOf(HasSubstr("20"), HasSubstr("(L1), 150"), HasSubstr("(L2)**")));
  EXPECT_THAT(answers[1], testing::StrEq("**All processors together read 30.0 TB/s (L1).**"));
  EXPECT_THAT(answers[2], HasSubstr("(2 times as long)"));
}

TEST(KernelStudyAnswers, AccessNamesTheRateOfTheWorstPattern) {
  ComparisonRecord record;
  record.alternatives = {"coalesced", "16 bytes", "random"};
  for (const auto& [alternative, ratio] : {std::pair{1, 0.9}, std::pair{2, 8.0}}) {
    Comparison comparison;
    comparison.alternative = static_cast<std::size_t>(alternative);
    comparison.time = {ratio, ratio * 0.99, ratio * 1.01};
    comparison.verdict = ratio < 1.0 ? statistics::EffectVerdict::faster : statistics::EffectVerdict::slower;
    comparison.first.time.median = microseconds(100);
    comparison.second.time.median = microseconds(100 * ratio);
    comparison.first.amount = comparison.second.amount = Amount{Amount::Unit::bytes, 4e8};
    record.comparisons.push_back(comparison);
  }
  EXPECT_THAT(answers_to("access", record),
              ElementsAre(AllOf(HasSubstr("coalesced gets 4.00 TB/s"), HasSubstr("random 500 GB/s"),
                                HasSubstr("slower than coalesced: 8.0 times as long")),
                          HasSubstr("The fastest is 16 bytes")));
  record.comparisons[1].second.verification = Verification{.relative_error = 0.5, .passed = false};
  const std::vector<std::string> answers = answers_to("access", record);
  EXPECT_THAT(answers.front(), HasSubstr("no pattern is shown to be slower"))
      << "what is wrong does not count";
  EXPECT_THAT(answers.back(), HasSubstr("random gives a wrong result"));
}

TEST(KernelStudyAnswers, TilingSaysWhatBankConflictsCost) {
  ComparisonRecord record;
  record.alternatives = {"plain", "tile=32", "conflicts", "padded"};
  const double ratios[] = {0.5, 1.5, 0.75};
  for (std::size_t i = 0; i < 3; ++i) {
    Comparison comparison;
    comparison.alternative = i + 1;
    comparison.time = {ratios[i], ratios[i] * 0.99, ratios[i] * 1.01};
    comparison.verdict =
        ratios[i] < 1.0 ? statistics::EffectVerdict::faster : statistics::EffectVerdict::slower;
    record.comparisons.push_back(comparison);
  }
  EXPECT_THAT(answers_to("tiling", record),
              ElementsAre(HasSubstr("tile=32 is faster than plain: 1/2.00"), HasSubstr("__syncthreads()"),
                          HasSubstr("slower: 2 times as long")));
}

}  // namespace
}  // namespace jitterscope::study
