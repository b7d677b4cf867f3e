#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(TraceProof, ATruthfulDevicePasses) {
  Court court;
  const std::vector<ProofLine> lines = prove_trace(court.context);
  ASSERT_EQ(lines.size(), 3u);  // spin, a short product, a convolution
  EXPECT_THAT(verdicts(lines), Each(Verdict::passed));
  EXPECT_EQ(lines[0].name, "spin:ns=10000,blocks=132");
  EXPECT_NEAR(lines[0].value->value, 0.0, 0.05e-6);
  ProofOptions full;
  Court long_court(truthful_script(), full);
  EXPECT_EQ(prove_trace(long_court.context).size(), 4u);  // and a copy
}

TEST(TraceProof, ATracerOffByOneMicrosecondMisses) {
  Court court;
  court.device.script().tracer_error = microseconds(1);
  const std::vector<ProofLine> lines = prove_trace(court.context);
  EXPECT_THAT(verdicts(lines), Each(Verdict::missed));
  for (const ProofLine& line : lines) EXPECT_NEAR(line.value->value, -1e-6, 0.05e-6) << line.name;
}

// 1 µs of a copy of 136 µs is 0.7 %; 0.5 µs of it is within 0.5 %.
TEST(TraceProof, LongTimesAreJudgedByTheirShare) {
  for (const auto& [error, verdict] :
       {std::pair(microseconds(1), Verdict::missed), std::pair(microseconds(0.5), Verdict::passed)}) {
    Court court(truthful_script(), ProofOptions());
    court.device.script().tracer_error = error;
    const std::vector<ProofLine> lines = prove_trace(court.context);
    EXPECT_THAT(lines[3].name, HasSubstr("copy"));
    EXPECT_EQ(lines[3].verdict, verdict);
    EXPECT_EQ(lines[0].verdict, Verdict::missed);
  }
}

TEST(TraceProof, TheTracerIsUsedBehindAllOwnTimes) {
  ProofOptions options{.quick = true};
  std::vector<std::string> steps;
  options.progress = [&](double, const std::string& what) { steps.push_back(what); };
  Court court(truthful_script(), options);
  prove_trace(court.context);
  ASSERT_EQ(steps.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(steps[i], testing::Not(HasSubstr("traced")));
    EXPECT_EQ(steps[i + 3], "traced: " + steps[i]);
  }
}

TEST(TraceProof, WithoutATracerTheReasonIsSaid) {
  Court court;
  court.device.script().can_trace = false;
  EXPECT_THROW(prove_trace(court.context), MissingError);
}

}  // namespace
}  // namespace jitterscope::selftest
