#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Result with_effect(const simulated::Effect& effect, std::uint64_t seed, bool has_clock = true,
                   Load load = Load::burst) {
  simulated::Record record;
  record.has_clock = has_clock;
  record.conditions.load = load;
  record.effect = effect;
  return simulated::result_of({simulated::measure(record, seed)});
}

simulated::Effect slow_first(double factor) {
  return [factor](const simulated::RoundPosition&) { return simulated::RoundEffect{.first_launch = factor}; };
}
simulated::Effect clock_by_idle(double change) {
  return [change](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.clock = 1.0 + change * at.idle};
  };
}

std::vector<Finding> ramps(const Result& result) {
  return simulated::with_id(find_all(result, simulated::context()), "idle_ramp");
}

TEST(IdleRamp, ASlowFirstLaunchIsSeenAtOnePercent) {
  const auto make = [](std::uint64_t seed) { return with_effect(slow_first(1.01), seed); };
  EXPECT_GE(simulated::detection_rate("idle_ramp", 300, make), 0.9);
}

TEST(IdleRamp, AClockThatFallsWithIdleIsSeenAtOnePercent) {
  const auto make = [](std::uint64_t seed) { return with_effect(clock_by_idle(-0.01), seed); };
  EXPECT_GE(simulated::detection_rate("idle_ramp", 300, make), 0.9);
}

TEST(IdleRamp, SaysHowMuch) {
  const auto first = ramps(with_effect(slow_first(1.05), 1));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(first[0], "first_launch_excess_ratio"), 0.05, 0.004);
  const auto idle = ramps(with_effect(clock_by_idle(-0.04), 1));
  ASSERT_THAT(idle, SizeIs(1));
  EXPECT_THAT(idle[0].sentence, HasSubstr("SM clock of a round is lower after a longer idle"));
  EXPECT_NEAR(simulated::evidence_number(idle[0], "clock_change_ratio"), -0.04, 0.004);
}

TEST(IdleRamp, NoClockFallsByMoreThanAllOfIt) {
  const auto idle = ramps(with_effect(
      [](const simulated::RoundPosition& at) {
        return simulated::RoundEffect{.clock = at.idle < 0.4 ? 1.0 : 0.2};
      },
      1));
  ASSERT_THAT(idle, SizeIs(1));
  const double change = simulated::evidence_number(idle[0], "clock_change_ratio");
  EXPECT_LT(change, -0.6);
  EXPECT_GT(change, -1.0);
}

TEST(IdleRamp, PrintsTheClockToCompareAt) {
  const Result result = with_effect(clock_by_idle(-0.04), 1);
  const auto idle = ramps(result);
  ASSERT_THAT(idle, SizeIs(1));
  const std::int64_t clock = std::llround(result.measurements[0].clock->median.value() * 1e-6);
  EXPECT_THAT(idle[0].sentence,
              HasSubstr("To compare at one clock: --reference-clock " + std::to_string(clock) + "."));
  EXPECT_THAT(idle[0].remedy, HasSubstr("--reference-clock"));
}

TEST(IdleRamp, WithoutAClockTheTimeIsFollowed) {
  const auto findings = ramps(with_effect(clock_by_idle(-0.04), 1, false));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "time_change_ratio"), 0.8 * 0.04, 0.005);
}

TEST(IdleRamp, AFasterFirstLaunchOrARisingClockIsNone) {
  EXPECT_THAT(ramps(with_effect(slow_first(0.9), 1)), IsEmpty());
  EXPECT_THAT(ramps(with_effect(clock_by_idle(0.04), 1)), IsEmpty());
}

TEST(IdleRamp, ASleepThatMadeNothingLongerHasNoNumber) {
  Measurement measurement = simulated::measure({}, 1);
  const auto sentence = [&](double factor) {
    measurement.sleeping_clock = SleepingClock{milliseconds(20), measurement.time.median * factor};
    return ramps(simulated::result_of({measurement})).at(0).sentence;
  };
  EXPECT_THAT(sentence(1.5), HasSubstr("Without that a launch took 2.05"));
  EXPECT_THAT(sentence(0.9996), Not(HasSubstr("Without that")));
}

TEST(IdleRamp, SustainedLoadHasNoIdle) {
  EXPECT_THAT(ramps(with_effect(slow_first(1.1), 1, true, Load::sustained)), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
