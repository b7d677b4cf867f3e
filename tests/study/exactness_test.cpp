// What a study says of how exactly it knows its ratios.
#include "study/answers.hpp"

#include <gmock/gmock.h>

namespace jitterscope::study {
namespace {

Comparison known_to(std::size_t alternative, double half_width, double within, double between) {
  Comparison comparison;
  comparison.alternative = alternative;
  comparison.first.subject = Operation(Matmul{.m = 8, .n = 8, .k = 8});
  comparison.processes = 5;
  comparison.time = {0.5, 0.5 * (1.0 - half_width), 0.5 * (1.0 + half_width)};
  comparison.within = within;
  comparison.between = between;
  return comparison;
}

ComparisonRecord record_of_known(std::vector<Comparison> comparisons) {
  ComparisonRecord record;
  record.alternatives = {"eager", "graph", "batched"};
  record.comparisons = std::move(comparisons);
  return record;
}

TEST(Exactness, NothingIsSaidWhereAllIsKnownWellEnough) {
  EXPECT_EQ(
      exactness_sentence(record_of_known({known_to(1, 0.019, 0.001, 0.01), known_to(2, 0.001, 0.0, 0.0)})),
      "");
  EXPECT_EQ(exactness_sentence(record_of_known({})), "");
}

TEST(Exactness, WhereProcessesDifferMoreOfThemWouldDo) {
  // Student's interval of 43 that differ by 6.5 %, which five know to 8 % at t = 2.78: 2.02 * 6.5 % /
  // sqrt(43).
  EXPECT_EQ(
      exactness_sentence(record_of_known({known_to(1, 0.08, 0.004, 0.05), known_to(2, 0.01, 0.0, 0.0)})),
      "1 of 2 ratios are known to ± 2 % or better, graph only to ± 8 %: processes differ by 5 % (standard "
      "deviation) more than their rounds explain; about 43 processes would reach ± 2 % (--processes).");
}

TEST(Exactness, WhereRoundsDifferMoreTimeWould) {
  EXPECT_EQ(
      exactness_sentence(record_of_known({known_to(1, 0.03, 0.02, 0.001)})),
      "Its ratio is known only to ± 3 %: within a process it is known to 2 % (standard deviation), and more "
      "time would narrow that (--time-limit).");
}

TEST(Exactness, OfSeveralOperationsTheWidestIsNamed) {
  Comparison other = known_to(2, 0.3, 0.0, 0.2);
  other.first.subject = Operation(Matmul{.m = 16, .n = 8, .k = 8});
  EXPECT_THAT(exactness_sentence(record_of_known({known_to(1, 0.08, 0.004, 0.05), other})),
              testing::HasSubstr("batched of matmul:m=16,n=8,k=8,dtype=f32 only to ± 30 %"));
}

TEST(Exactness, WhatFailedOrIsWrongDoesNotCount) {
  Comparison failed = known_to(1, 0.5, 0.0, 0.2), wrong = failed;
  failed.failure = "there is no memory";
  wrong.second.verification = Verification{.passed = false};
  EXPECT_EQ(exactness_sentence(record_of_known({failed, wrong})), "");
}

TEST(Exactness, NoNumberIsGivenThatNobodyWouldWaitFor) {
  EXPECT_THAT(exactness_sentence(record_of_known({known_to(1, 0.9, 0.0, 0.5)})),
              testing::EndsWith("more than their rounds explain."));
}

}  // namespace
}  // namespace jitterscope::study
