#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(SpinProof, ATruthfulDevicePasses) {
  Court court;
  const std::vector<ProofLine> lines = prove_spin(court.context);
  ASSERT_EQ(lines.size(), 6u);  // slope and residual, on 1, 132 and 1056 blocks
  EXPECT_THAT(verdicts(lines), Each(Verdict::passed));
  EXPECT_EQ(lines[0].name, "slope, 1 block");
  EXPECT_EQ(lines[5].name, "largest residual, 1056 blocks");
  EXPECT_NEAR(lines[2].value->value, 1.0, 1e-3);
  EXPECT_LE(*lines[2].value->low, lines[2].value->value);
  // 0.6 µs of every scripted spin are the kernel's own, and no residual.
  EXPECT_NEAR(lines[3].value->value, 0.0, 0.05e-6);
  EXPECT_THAT(lines[3].note, HasSubstr("0.600 µs of an empty kernel"));
}

// Kernels under 20 µs are read by slopes, those of 50 µs by events: only these are off, by 0.3 µs.
TEST(SpinProof, AConstantAddedToEventsMisses) {
  Court court;
  court.context.session();
  court.device.script().events_constant += Nanoseconds(300);
  const std::vector<ProofLine> lines = prove_spin(court.context);
  EXPECT_THAT(verdicts(lines), Each(Verdict::missed));
  EXPECT_NEAR(lines[1].value->value, 0.3e-6, 0.03e-6);
  EXPECT_THAT(lines[1].note, testing::ContainsRegex("\\+0\\.[23].. µs at 50 µs"));
  // 0.3 of 50 µs, over a span of 49 µs of known times.
  EXPECT_NEAR(lines[0].value->value, 1.0064, 0.001);
}

TEST(SpinProof, AnInterruptionEndsIt) {
  ProofOptions options;
  int steps = 0;
  options.progress = [&](double, auto&) { ++steps; };
  options.interrupted = [&] { return steps > 2; };
  Court court(truthful_script(), options);
  EXPECT_THROW(prove_spin(court.context), InterruptedError);
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace jitterscope::selftest
