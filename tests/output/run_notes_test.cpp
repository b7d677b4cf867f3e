// What follows the tables: findings, what was not reached, what was not timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "commands/run/table.hpp"
#include "measure/run_record.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using test::details;
using testing::HasSubstr;
using testing::Not;

TEST(RunNotes, TheFindingsWithTheLargestEffectAreALineEach) {
  RunRecord record = test::sample_operation();
  for (const auto& [id, effect] :
       {std::pair{"small", 0.01}, {"large", 0.5}, {"middle", 0.1}, {"least", 0.001}}) {
    record.entries[0].result.findings.push_back(
        {id, std::string("The ") + id + " one.", "Do.", {}, "headline", effect});
  }
  std::string text = run_table(record);
  EXPECT_THAT(text,
              HasSubstr("The 3 of 4 findings with the largest effect (causes and remedies: --findings"));
  EXPECT_THAT(text, HasSubstr("1. **large**: headline\n2. **middle**: headline\n3. **small**: headline\n"));
  EXPECT_THAT(text, Not(HasSubstr("**least**")));
  EXPECT_THAT(text, Not(HasSubstr("Remedy")));
  text = run_table(record, {.findings = FindingsShown::all});
  EXPECT_LT(text.find("**middle**"), text.find("**small**"));
  EXPECT_THAT(text, HasSubstr("4. **least** The least one.\n   Remedy: Do.\n"));
  EXPECT_THAT(run_table(record, {.findings = FindingsShown::none}), Not(HasSubstr("large")));
}

// What cannot be measured well here is said once, not by each operation.
TEST(RunNotes, ImprecisionIsCountedOnceAndIsNoFindingAmongTheFirst) {
  RunRecord record = test::model_of(12);
  for (Result& result : results_of(record)) {
    result.measurements[0].time.low = result.measurements[0].repeatability.low =
        0.9 * result.measurements[0].time.median;
    result.findings = {{"imprecise", "±5 % was reached.", "Wait.", {}, "±5 % was reached", 0.05}};
  }
  EXPECT_THAT(run_table(record), Not(HasSubstr("imprecise")));
  EXPECT_THAT(run_table(record), HasSubstr("12 of 12 times did not reach ± 0.5 %"));
  EXPECT_THAT(run_table(record), Not(HasSubstr("CPU")));
  record.device.capabilities.is_host = true;
  EXPECT_THAT(run_table(record, {.width = 200}),
              HasSubstr("± 0.5 %. A CPU shared with other programs seldom does. Why: --findings all.\n"));
  EXPECT_THAT(details(record), HasSubstr("**imprecise** (12 operations"));
}

TEST(RunNotes, WhatHasNoReferenceIsNotCountedAsVerified) {
  RunRecord record = test::sample_model();
  record.entries[0].result.verification.reset();
  EXPECT_THAT(
      run_table(record, {.width = 200}),
      HasSubstr(
          "Verified against a float64 reference at 65536 of 65536 elements: 0 of 1 passed; 1 not verified, "
          "without a reference."));
  record.entries[1].result.verification.reset();
  EXPECT_THAT(run_table(record), Not(HasSubstr("erified")));
  record.asked.emplace().verify = true;
  EXPECT_THAT(run_table(record), HasSubstr("Nothing was verified: there is no reference for this.\n"));
}

TEST(RunNotes, WhatWasNotTimedNamesTheTotalThatItIsAShareOf) {
  RunRecord record = test::sample_model();
  record.untimed = {{"aten::add_", 20, "it is one integer", microseconds(50)},
                    {"aten::sum", 3, "no kind", microseconds(20)}};
  record.recorded_gpu_time = milliseconds(8.49);
  EXPECT_THAT(
      run_table(record, {.width = 200}),
      HasSubstr("Not timed: 23 calls of 2 operators, 70.0 µs of the 8.49 ms of GPU time recorded (0.82 %), "
                "most of it aten::add_ (0.59 %); --details lists them.\n"));
  EXPECT_THAT(details(record),
              HasSubstr("Not timed: 70.0 µs of the 8.49 ms of GPU time recorded (0.82 %).\n"));
  EXPECT_THAT(details(record), HasSubstr("\n- no kind: aten::sum ×3 (0.24 %)\n"));
}

TEST(RunNotes, ATimeWithoutSteadyStateIsCounted) {
  RunRecord record = test::sample_operation();
  Measurement& sustained = record.entries[0].result.measurements[2];
  EXPECT_THAT(run_table(record), Not(HasSubstr("did not reach")));
  sustained.steadiness->verdict = Steadiness::Verdict::never_steady;
  EXPECT_THAT(run_table(record),
              HasSubstr("\n1 of 3 times did not reach a steady state. Why: --findings all.\n"));
  record.entries[0].result.measurements[0].precision_asked = 0.0005;
  EXPECT_THAT(run_table(record), HasSubstr("\n2 of 3 times did not reach ± 0."));
  sustained.steadiness->verdict = Steadiness::Verdict::steady;
  EXPECT_THAT(run_table(record), HasSubstr("\n1 of 3 times did not reach ± 0."));
}

TEST(RunNotes, OperandsThatFillMemoryLieInOnePlace) {
  RunRecord record = test::sample_operation();
  Result& result = record.entries[0].result;
  EXPECT_THAT(run_table(record), Not(HasSubstr("in one place only")));
  record.device.memory_total = Bytes(result.bytes.value() * 2 - 1);
  for (Measurement& measurement : result.measurements) measurement.is_placed_anew = true;
  EXPECT_THAT(run_table(record), Not(HasSubstr("in one place only")));
  result.measurements[0].is_placed_anew = false;
  EXPECT_THAT(run_table(record), HasSubstr("\nMemory holds the operands of "));
  record.device.capabilities.is_host = true;
  EXPECT_THAT(run_table(record), Not(HasSubstr("in one place only")));
}

TEST(RunNotes, KernelsThatCouldNotBeTracedAreSaidOnce) {
  RunRecord record = test::sample_model();
  for (Result& result : results_of(record)) {
    result.without_kernels = Shortfall{ExitCode::missing, "CUPTI was not found"};
  }
  EXPECT_THAT(run_table(record), HasSubstr("\nNo kernels of #1 and 2 more: CUPTI was not found\n"));
}

}  // namespace
}  // namespace jitterscope
