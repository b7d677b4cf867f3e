#include "selftest/comparison_and_explain_proofs.hpp"

#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

ComparisonPlan small_plan() {
  ComparisonPlan plan = comparison_plan(true);
  plan.presets = {"h200"};
  plan.process_effects = {0.002};
  plan.processes = 4;
  plan.comparisons = plan.slower_comparisons = 12;
  plan.intervals = 20;
  return plan;
}

TEST(ComparisonProof, WhatIsTrueIsNotMissed) {
  Court court;
  const std::vector<ProofLine> lines = prove_comparison(court.context, small_plan());
  ASSERT_EQ(lines.size(), 4u);
  for (const ProofLine& line : lines) EXPECT_NE(line.verdict, Verdict::missed) << line.name << line.measured;
  EXPECT_EQ(lines[0].name, "shown to differ from itself, h200");
  EXPECT_EQ(lines[1].name, "shown to be slower, slower: +0.50 %");
  EXPECT_EQ(lines[3].name, "interval over 4 processes, process effect of 0.2 %");
}

TEST(ComparisonProof, ADifferenceThatIsNoneIsNotShown) {
  Court court;
  ComparisonPlan plan = small_plan();
  plan.slower = plan.usual;
  const std::vector<ProofLine> lines = prove_comparison(court.context, plan);
  EXPECT_EQ(lines[1].verdict, Verdict::missed);
}

}  // namespace
}  // namespace jitterscope::selftest
