#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Result heated(Nanoseconds growth_per_round, bool reason, std::uint64_t seed) {
  simulated::Record record;
  record.conditions.load = Load::sustained;
  record.effect = [=](const simulated::RoundPosition&) {
    return simulated::RoundEffect{.thermal_reason = reason, .throttled_thermal = growth_per_round};
  };
  return simulated::result_of({simulated::measure(record, seed)});
}

TEST(Thermal, AGrowingCounterIsFoundWithShareAndTemperature) {
  const auto findings =
      simulated::with_id(find_all(heated(milliseconds(10), false, 1), simulated::context()), "thermal");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("SM clock"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("52 °C"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("ran at 161"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "throttled_thermal_s"), 0.24, 1e-9);
  EXPECT_NEAR(simulated::evidence_number(findings[0], "throttled_share_ratio"), 10 / (20 * 1.368), 0.01);
}

TEST(Thermal, OnePercentOfTheTimeIsSeen) {
  const auto make = [](std::uint64_t seed) { return heated(milliseconds(0.27), false, seed); };
  EXPECT_GE(simulated::detection_rate("thermal", 100, make), 0.9);
}

TEST(Thermal, ANamedReasonIsEnough) {
  EXPECT_THAT(simulated::with_id(find_all(heated(Nanoseconds(0), true, 1), simulated::context()), "thermal"),
              SizeIs(1));
}

TEST(Thermal, ASingleBlipIsNone) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.throttled_thermal = Nanoseconds(at.index == 7 ? 1000 : 0)};
  };
  const Result result = simulated::result_of({simulated::measure(record, 1)});
  EXPECT_THAT(simulated::with_id(find_all(result, simulated::context()), "thermal"), ::testing::IsEmpty());
}

TEST(Thermal, ACounterThatStandsStillIsQuietWhateverItsLevel) {
  EXPECT_THAT(find_all(heated(Nanoseconds(0), false, 1), simulated::context()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace jitterscope
