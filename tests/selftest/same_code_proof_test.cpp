#include "selftest/same_code_proof.hpp"

#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

SameCodePlan small_plan() {
  SameCodePlan plan = same_code_plan(true);
  plan.pairs = 20;
  plan.slower_pairs = 8;
  plan.studies = 2;
  return plan;
}

TEST(SameCodeProof, EqualCodeIsSeldomCalledDifferent) {
  Court court;
  const std::vector<ProofLine> lines = prove_same_code(court.context, small_plan());
  ASSERT_EQ(lines.size(), 5u);
  for (const ProofLine& line : lines) EXPECT_EQ(line.verdict, Verdict::passed) << line.name << line.measured;
  EXPECT_EQ(lines[0].name, "called different, quiet GPU");
  EXPECT_EQ(lines[3].name, "called different, 1 % slower H200");
  EXPECT_EQ(lines[4].name, "processes found to differ, process effect of 0.2 %");
}

TEST(SameCodeProof, AGpuThatSlowsBetweenTheTwoMisses) {
  Court court;
  SameCodePlan plan = small_plan();
  plan.one_process.resize(1, plan.slower);
  plan.one_process.front().gpu.noise.drift = 0.05;
  plan.one_process.front().gpu.noise.drift_time = seconds(1);
  EXPECT_EQ(prove_same_code(court.context, plan).front().verdict, Verdict::missed);
}

TEST(SameCodeProof, ADifferenceThatIsNoneMisses) {
  Court court;
  SameCodePlan plan = small_plan();
  plan.slower = plan.usual;
  plan.process_effect.gpu.noise.process_sd = 0.0;
  const std::vector<ProofLine> lines = prove_same_code(court.context, plan);
  EXPECT_EQ(lines[3].verdict, Verdict::missed);
  EXPECT_EQ(lines[4].measured.substr(0, 6), "0 of 2");
}

TEST(SameCodeProof, TheSameSeedGivesTheSameLines) {
  Court first, second;
  const auto one = prove_same_code(first.context, small_plan()),
             two = prove_same_code(second.context, small_plan());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].measured, two[i].measured);
}

}  // namespace
}  // namespace jitterscope::selftest
