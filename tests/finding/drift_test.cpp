#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Result drifting(double change, std::uint64_t seed, Load load = Load::burst, bool by_clock = false) {
  simulated::Record record;
  record.conditions.load = load;
  record.effect = [=](const simulated::RoundPosition& at) {
    const double factor = 1.0 + change * at.progress;
    return by_clock ? simulated::RoundEffect{.clock = 1.0 / factor} : simulated::RoundEffect{.time = factor};
  };
  return simulated::result_of({simulated::measure(record, seed)});
}

std::vector<Finding> drifts(const Result& result) {
  return simulated::with_id(find_all(result, simulated::context()), "drift");
}

TEST(Drift, OnePercentOverTheRecordIsSeen) {
  const auto make = [](std::uint64_t seed) { return drifting(0.015, seed); };  // thirds are 1 % apart
  EXPECT_GE(simulated::detection_rate("drift", 300, make), 0.9);
}

TEST(Drift, GivesTheChangeWithItsSign) {
  const auto findings = drifts(drifting(-0.06, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "time_change_ratio"), -0.04, 0.005);
  EXPECT_THAT(findings[0].sentence, HasSubstr("changed by -"));
}

TEST(Drift, SaysWhetherTheClockMovedToo) {
  const auto findings = drifts(drifting(0.06, 1, Load::burst, true));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "clock_change_ratio"), -0.04, 0.006);
}

TEST(Drift, SmallAndSustainedTrendsAreLeftToOthers) {
  EXPECT_THAT(drifts(drifting(0.003, 1)), IsEmpty());
  EXPECT_THAT(drifts(drifting(0.06, 1, Load::sustained)), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
