#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> with_grain(Nanoseconds time, std::int64_t launches_per_value = 1) {
  Measurement measurement = simulated::measure({.time = time}, 1);
  for (Round& round : measurement.rounds) round.launches_per_value = launches_per_value;
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                            "timer_grain");
}

TEST(TimerGrain, AThirdOfThePrecisionIsTheBorder) {
  // 32 ns over 19.2 µs is a third of 0.5 %.
  EXPECT_THAT(with_grain(microseconds(18.8)), SizeIs(1));
  EXPECT_THAT(with_grain(microseconds(19.6)), IsEmpty());
}

TEST(TimerGrain, GivesStepTimeAndShare) {
  const Finding finding = with_grain(microseconds(3.2)).at(0);
  EXPECT_THAT(finding.sentence, HasSubstr("steps by 32.0 ns"));
  EXPECT_NEAR(simulated::evidence_number(finding, "grain_share_ratio"), 0.01, 0.0003);
  EXPECT_NEAR(simulated::evidence_number(finding, "grain_s"), 32e-9, 1e-15);
}

TEST(TimerGrain, TimedInGroupsIsNone) { EXPECT_THAT(with_grain(microseconds(3.2), 64), IsEmpty()); }

}  // namespace
}  // namespace jitterscope
