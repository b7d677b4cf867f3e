#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Bursts of 1.368 ms at 1612 MHz, and what half a second without pause showed.
Result probed(double change, std::optional<Watts> power, std::optional<double> capped) {
  Result result = simulated::result_of({simulated::measure({}, 1)});
  LoadProbe probe;
  probe.watched = milliseconds(500);
  probe.time = result.measurements[0].time.median * (1.0 + change);
  probe.clock = megahertz(1500);
  probe.power = power;
  probe.power_capped = capped;
  result.load_probe = probe;
  return result;
}

std::vector<Finding> found(const Result& result) {
  return simulated::with_id(find_all(result, simulated::context()), "sustained_differs");
}

TEST(SustainedDiffers, GivesThePowerTheLimitAndWhatTheTimeDid) {
  const auto findings = found(probed(0.11, Watts(690), 0.9));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("it draws 690 W of the 700 W allowed"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("(+11.0 %)"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("to 1500 MHz"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("--load burst,sustained"));
  EXPECT_DOUBLE_EQ(simulated::evidence_number(findings[0], "power_w"), 690);
  EXPECT_DOUBLE_EQ(simulated::evidence_number(findings[0], "power_limit_w"), 700);
  EXPECT_NEAR(findings[0].effect.value(), 0.11, 1e-9);
}

TEST(SustainedDiffers, WhereACounterSaysThatTheCapDidNotActTheDrawIsNoReason) {
  EXPECT_THAT(found(probed(0.001, Watts(698), 0.0)), IsEmpty());
  EXPECT_THAT(found(probed(0.001, Watts(698), 0.4)), SizeIs(1));
}

TEST(SustainedDiffers, WithoutThatCounterTheDrawDecides) {
  EXPECT_THAT(found(probed(0.001, Watts(630), {})), IsEmpty());
  EXPECT_THAT(found(probed(0.001, Watts(670), {})), SizeIs(1));
  EXPECT_THAT(found(probed(0.001, {}, {})), IsEmpty());
}

// A clock that only a steady load brings up: sustained work is faster.
TEST(SustainedDiffers, AnotherTimeIsAReasonByItself) {
  const auto findings = found(probed(-0.4, Watts(200), 0.0));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("Without pause the time differs"));
  EXPECT_NEAR(findings[0].effect.value(), 0.4, 1e-9);
  EXPECT_THAT(found(probed(0.015, Watts(200), 0.0)), IsEmpty());
}

TEST(SustainedDiffers, WithoutAProbeOrItsBurstsThereIsNone) {
  EXPECT_THAT(found(simulated::quiet_result(3)), IsEmpty());
  Result other = probed(0.11, Watts(690), 0.9);
  other.load_probe->cache = CacheState::cold;
  EXPECT_THAT(found(other), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
