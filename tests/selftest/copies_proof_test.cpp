#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

using testing::HasSubstr;

// 6144 bits at two transfers of 3201 MHz: 4.917 TB/s.
scripted::Script with_bus(scripted::Script script) {
  script.properties = {{"memory_bus_bits", "6144"}, {"maximum_memory_clock_mhz", "3201"}};
  return script;
}

TEST(CopiesProof, ATruthfulDevicePasses) {
  Court court(with_bus(truthful_script()));
  const std::vector<ProofLine> lines = prove_copies(court.context);
  ASSERT_EQ(verdicts(lines), (std::vector{Verdict::passed, Verdict::passed}));
  EXPECT_NEAR(lines[0].value->value, 1.0, 2e-3);
  // The largest has the smallest part of 2 µs of launch: 2 GiB in 538.9 µs.
  EXPECT_NEAR(lines[1].value->value, 2147483648 / 538.87e-6, 5e9);
  EXPECT_EQ(lines[1].target, "at most 4.92 TB/s");
}

TEST(CopiesProof, TimeOutOfProportionMisses) {
  scripted::Script script = with_bus(truthful_script());
  script.launch_time = [](const scripted::LaunchContext& context) {
    const auto bytes = static_cast<double>(context.operation->bytes().value());
    return seconds(bytes / (bytes > 2e9 ? 3.9e12 : 4e12));
  };
  Court court(script);
  const std::vector<ProofLine> lines = prove_copies(court.context);
  ASSERT_EQ(verdicts(lines), (std::vector{Verdict::missed, Verdict::passed}));
  // 4/3.9 units for 4, less 2: over 2, less 1 for 1.
  EXPECT_NEAR(lines[0].value->value, (4 / 0.975 - 2) / 2, 2e-3);
}

TEST(CopiesProof, FasterThanTheBusMisses) {
  scripted::Script script = with_bus(truthful_script());
  script.launch_time = [](const scripted::LaunchContext& context) {
    return seconds(static_cast<double>(context.operation->bytes().value()) / 6e12);
  };
  Court court(script);
  EXPECT_EQ(verdicts(prove_copies(court.context)), (std::vector{Verdict::passed, Verdict::missed}));
}

TEST(CopiesProof, AnUnknownBusIsSkippedWithWhatWasMeasured) {
  Court court;
  const std::vector<ProofLine> lines = prove_copies(court.context);
  ASSERT_EQ(verdicts(lines), (std::vector{Verdict::passed, Verdict::skipped}));
  EXPECT_THAT(lines[1].note, HasSubstr("3.99 TB/s were measured"));
}

}  // namespace
}  // namespace jitterscope::selftest
