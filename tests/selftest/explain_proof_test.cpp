#include "selftest/comparison_and_explain_proofs.hpp"

#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

ExplainPlan small_explain_plan() {
  ExplainPlan plan = explain_plan(true);
  plan.without_cause.erase(plan.without_cause.begin() + 1, plan.without_cause.end());
  plan.with_causes.erase(plan.with_causes.begin() + 1, plan.with_causes.end());
  plan.studies = 8;
  plan.true_studies = 4;
  return plan;
}

TEST(ExplainProof, WhatIsTrueIsNotMissed) {
  Court court;
  const std::vector<ProofLine> lines = prove_explain(court.context, small_explain_plan());
  ASSERT_EQ(lines.size(), 5u);
  for (const ProofLine& line : lines) EXPECT_NE(line.verdict, Verdict::missed) << line.name << line.measured;
  EXPECT_EQ(lines[0].name, "studies that name a false cause, steady");
  EXPECT_EQ(lines[2].name, "largest cause named first, a clock that sleeps");
  EXPECT_EQ(lines[3].name, "named as a group, no counters of held clocks");
  EXPECT_EQ(lines[4].name, "shares add up to what was observed");
}

TEST(ExplainProof, ACauseThatIsThereIsNoFalseOne) {
  Court court;
  ExplainPlan plan = small_explain_plan();
  plan.without_cause = plan.with_causes;
  EXPECT_EQ(prove_explain(court.context, plan).front().verdict, Verdict::missed);
}

TEST(ExplainProof, WhatCanBeToldApartIsNoGroup) {
  Court court;
  ExplainPlan plan = small_explain_plan();
  plan.with_group.gpu = physics::find_preset("h200");
  EXPECT_EQ(prove_explain(court.context, plan)[3].verdict, Verdict::missed);
}

TEST(ExplainProof, NothingIsNamedFirstWhereNothingStandsOut) {
  Court court;
  ExplainPlan plan = small_explain_plan();
  plan.with_causes = plan.without_cause;
  for (const ProofLine& line : prove_explain(court.context, plan)) {
    EXPECT_FALSE(line.name.starts_with("largest cause") && line.verdict == Verdict::passed) << line.measured;
  }
}

}  // namespace
}  // namespace jitterscope::selftest
