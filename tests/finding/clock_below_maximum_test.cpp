#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> at_clock(Hertz clock, Load load = Load::burst, bool power_reason = false,
                              bool on_gpu = true) {
  simulated::Record record;
  record.clock = clock;
  record.conditions.load = load;
  record.effect = [=](const simulated::RoundPosition&) {
    return simulated::RoundEffect{.power_reason = power_reason};
  };
  const Result result = simulated::result_of({simulated::measure(record, 1)});
  return simulated::with_id(find_all(result, simulated::context(on_gpu)), "clock_below_maximum");
}

TEST(ClockBelowMaximum, ABurstAtEightyOnePercentIsSaid) {
  const auto findings = at_clock(megahertz(1612));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr(" % of the maximum of 1980 MHz"));
  EXPECT_THAT(findings[0].sentence, testing::EndsWith(" To compare at one clock: --reference-clock 1613."));
  EXPECT_THAT(findings[0].remedy, HasSubstr("--reference-clock"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "clock_share_ratio"), 0.814, 0.001);
}

TEST(ClockBelowMaximum, NinetyPercentIsTheBorder) {
  EXPECT_THAT(at_clock(megahertz(0.89 * 1980)), SizeIs(1));
  EXPECT_THAT(at_clock(megahertz(0.91 * 1980)), IsEmpty());
}

TEST(ClockBelowMaximum, SilentWhereTheUserLockedTheClock) {
  simulated::Record record;
  record.clock = megahertz(1612);
  record.conditions.locked_clock = megahertz(1612);
  const Result result = simulated::result_of({simulated::measure(record, 1)});
  EXPECT_THAT(simulated::with_id(find_all(result, simulated::context()), "clock_below_maximum"), IsEmpty());
}

TEST(ClockBelowMaximum, SilentWhereAnotherFindingExplainsIt) {
  EXPECT_THAT(at_clock(megahertz(1612), Load::burst, true), IsEmpty());
}

TEST(ClockBelowMaximum, OnlyForBurstsOnAGpu) {
  EXPECT_THAT(at_clock(megahertz(1612), Load::sustained), IsEmpty());
  EXPECT_THAT(at_clock(megahertz(1612), Load::burst, false, false), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
