#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

TEST(ClockProof, ATruthfulDevicePasses) {
  Court court;
  const std::vector<ProofLine> lines = prove_clock(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::passed});
  EXPECT_NEAR(lines[0].value->value, 1.0, 2e-4);
  EXPECT_THAT(lines[0].note, testing::HasSubstr("1900 MHz"));
  EXPECT_FALSE(court.device.state().is_held);
}

// The other way round: 1 % too slow by the stamps.
TEST(ClockProof, StampsOffByOnePercentMiss) {
  Court court;
  court.device.script().clock_error = -0.01;
  const std::vector<ProofLine> lines = prove_clock(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::missed});
  EXPECT_NEAR(lines[0].value->value, 0.99, 2e-4);
  EXPECT_LE(*lines[0].value->high, 0.991);
}

TEST(ClockProof, WithoutAClockItIsSkipped) {
  scripted::Script script = truthful_script();
  script.clock = nullptr;
  Court court(script);
  EXPECT_EQ(verdicts(prove_clock(court.context)), std::vector{Verdict::skipped});
}

}  // namespace
}  // namespace jitterscope::selftest
