#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Regime {
  double clock_drop = 0.13;
  bool counters = true, has_sensors = true, by_heat = false;
};

Result loads(const Regime& regime, std::uint64_t seed) {
  simulated::Record burst, sustained;
  burst.has_sensors = sustained.has_sensors = regime.has_sensors;
  sustained.conditions.load = Load::sustained;
  sustained.clock_share = burst.clock_share = 1.0;
  sustained.effect = [regime](const simulated::RoundPosition&) {
    simulated::RoundEffect effect{.clock = 1.0 - regime.clock_drop};
    if (regime.counters) effect.throttled_power = milliseconds(5);
    if (regime.by_heat) effect.throttled_thermal = milliseconds(5);
    return effect;
  };
  return simulated::result_of({simulated::measure(burst, seed), simulated::measure(sustained, seed + 5000)});
}

std::vector<Finding> power_findings(const Result& result) {
  return simulated::with_id(find_all(result, simulated::context()), "power_cap");
}

TEST(PowerCap, GivesBothTimesBothClocksAndTheLimit) {
  const auto findings = power_findings(loads({}, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence,
              HasSubstr("Under sustained load the power cap of 700 W lowers the SM clock from 161"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("ms in bursts, 1.57"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "time_change_ratio"), 1 / 0.87 - 1, 0.003);
  EXPECT_NEAR(simulated::evidence_number(findings[0], "sustained_clock_hz"), 1612e6 * 0.87, 2e6);
  EXPECT_GT(simulated::evidence_number(findings[0], "throttled_power_s"), 0.1);
  EXPECT_EQ(simulated::evidence_value(findings[0], "cause_known"), Value(true));
}

TEST(PowerCap, IsSeenAtOnePercent) {
  const auto make = [](std::uint64_t seed) { return loads({.clock_drop = 0.01}, seed); };
  EXPECT_GE(simulated::detection_rate("power_cap", 300, make), 0.9);
}

TEST(PowerCap, AnEqualTimeUnderAnActiveCapIsNoFinding) {
  EXPECT_THAT(power_findings(loads({.clock_drop = 0.0}, 1)), IsEmpty());
}

TEST(PowerCap, WithoutSensorsTheCauseIsLeftOpen) {
  const auto findings = power_findings(loads({.counters = false, .has_sensors = false}, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("The sensor that would tell the cause is not readable"));
  EXPECT_THAT(findings[0].sentence, ::testing::Not(HasSubstr("power")));
  EXPECT_EQ(simulated::evidence_value(findings[0], "cause_known"), Value(false));
}

TEST(PowerCap, HeatIsNotThePowerCap) {
  EXPECT_THAT(power_findings(loads({.counters = false, .by_heat = true}, 1)), IsEmpty());
}

TEST(PowerCap, SlowerAtTheSameClockIsNotThePowerCap) {
  simulated::Record burst, sustained;
  sustained.conditions.load = Load::sustained;
  sustained.effect = [](const simulated::RoundPosition&) {
    return simulated::RoundEffect{.time = 1.1, .throttled_power = milliseconds(5)};
  };
  EXPECT_THAT(
      power_findings(simulated::result_of({simulated::measure(burst, 1), simulated::measure(sustained, 2)})),
      IsEmpty());
}

TEST(PowerCap, OnceForAllCachesAndTheOthersAreNamed) {
  Result result = loads({}, 1);
  for (Measurement cold : loads({.clock_drop = 0.05}, 2).measurements) {
    cold.conditions.cache = CacheState::cold;
    result.measurements.push_back(cold);
  }
  const auto findings = power_findings(result);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(simulated::evidence_text(findings[0], "conditions"), "warm, sustained");
  EXPECT_EQ(simulated::evidence_text(findings[0], "also_in"), "cold, sustained");
}

TEST(PowerCap, ActiveInBurstsIsSaid) {
  simulated::Record burst;
  burst.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.power_reason = at.index % 2 == 0};
  };
  const auto findings = power_findings(simulated::result_of({simulated::measure(burst, 1)}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("Even in bursts the power cap of 700 W limits the SM clock"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "rounds_capped_ratio"), 0.52, 0.001);
}

}  // namespace
}  // namespace jitterscope
