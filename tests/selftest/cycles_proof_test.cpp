#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

TEST(CyclesProof, ATruthfulDevicePasses) {
  Court court;
  const std::vector<ProofLine> lines = prove_cycles(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::passed});
  EXPECT_NEAR(lines[0].value->value, 1.0, 5e-4);
}

TEST(CyclesProof, AClockOffByOnePercentMisses) {
  Court court;
  court.device.script().clock_error = 0.01;
  const std::vector<ProofLine> lines = prove_cycles(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::missed});
  EXPECT_NEAR(lines[0].value->value, 1.01, 5e-4);
}

TEST(CyclesProof, WithoutAClockItIsSkipped) {
  scripted::Script script = truthful_script();
  script.clock = nullptr;
  Court court(script);
  const std::vector<ProofLine> lines = prove_cycles(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::skipped});
  EXPECT_EQ(lines[0].note, "this device cannot tell its clock");
}

}  // namespace
}  // namespace jitterscope::selftest
