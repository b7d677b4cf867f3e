// A finding says in which rounds it happened, where it did not hold at all times.
#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Finding> found(const Result& result, const std::string& id) {
  return simulated::with_id(find_all(result, simulated::context()), id);
}

Measurement with_effect(Load load, const simulated::Effect& effect) {
  simulated::Record record;
  record.conditions.load = load;
  record.effect = effect;
  return simulated::measure(record, 1);
}

TEST(Places, HeatIsWhereItWasNamed) {
  const Measurement measurement = with_effect(Load::burst, [](const simulated::RoundPosition& at) {
    const bool hot = (at.index >= 5 && at.index <= 9) || at.index == 20;
    return simulated::RoundEffect{.thermal_reason = hot};
  });
  const auto findings = found(simulated::result_of({simulated::measure({}, 2), measurement}), "thermal");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].places, ElementsAre(FindingPlace{1, {{5, 9}, {20, 20}}}));
}

TEST(Places, OfACauseInSeveralMeasurementsAreInAllOfThem) {
  const auto late = [](std::int64_t from) {
    return [from](const simulated::RoundPosition& at) {
      return simulated::RoundEffect{.thermal_reason = at.index >= from};
    };
  };
  Measurement warm = with_effect(Load::burst, late(20)), cold = with_effect(Load::burst, late(10));
  cold.conditions.cache = CacheState::cold;
  const auto findings = found(simulated::result_of({warm, cold}), "thermal");
  ASSERT_THAT(findings, SizeIs(1));
  // Where it shows most comes first.
  EXPECT_THAT(findings[0].places, ElementsAre(FindingPlace{1, {{10, 24}}}, FindingPlace{0, {{20, 24}}}));
}

TEST(Places, ASecondLevelIsWhereItsRoundsAre) {
  Measurement measurement = with_effect(Load::burst, [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = at.index >= 12 && at.index < 18 ? 1.05 : 1.0};
  });
  measurement.modes = {{milliseconds(1.368), 0.76}, {milliseconds(1.436), 0.24}};
  const auto findings = found(simulated::result_of({measurement}), "bimodal");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].places, ElementsAre(FindingPlace{0, {{12, 17}}}));
}

TEST(Places, ModesWithinEveryRoundHaveNone) {
  Measurement measurement = simulated::measure({}, 1);
  measurement.modes = {{milliseconds(1.368), 0.7}, {milliseconds(1.6), 0.3}};
  const auto findings = found(simulated::result_of({measurement}), "bimodal");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].places, IsEmpty());
}

TEST(Places, ADriftLiesBetweenTheFirstAndTheLastThird) {
  const Measurement measurement = with_effect(Load::burst, [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1.0 + 0.06 * at.progress};
  });
  const auto findings = found(simulated::result_of({measurement}), "drift");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].places, ElementsAre(FindingPlace{0, {{0, 7}, {17, 24}}}));
}

TEST(Places, ThePowerCapIsWhereItHeldTheClockDown) {
  simulated::Record burst;
  burst.clock_share = 1.0;
  const auto sustained = [](bool has_sensors) {
    simulated::Record record;
    record.conditions.load = Load::sustained;
    record.clock_share = 1.0;
    record.has_sensors = has_sensors;
    record.effect = [](const simulated::RoundPosition& at) {
      const bool capped = at.index >= 4;
      return simulated::RoundEffect{.clock = capped ? 0.87 : 1.0, .power_reason = capped};
    };
    return simulated::measure(record, 2);
  };
  const Measurement quiet = simulated::measure(burst, 1);
  Measurement settled = sustained(true);
  settled.steadiness = Steadiness{
      .verdict = Steadiness::Verdict::steady, .watched = {}, .settled_after = {}, .settled_round = 8};
  const auto known = found(simulated::result_of({quiet, settled}), "power_cap");
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_THAT(known[0].places, ElementsAre(FindingPlace{1, {{4, 24}}})) << "before it settled as well";
  // Without a sensor that says when, it is all that the time is of.
  const auto unknown = found(simulated::result_of({quiet, sustained(false)}), "power_cap");
  ASSERT_THAT(unknown, SizeIs(1));
  EXPECT_THAT(unknown[0].places, ElementsAre(FindingPlace{1, {{0, 24}}}));
}

TEST(Places, OnlyALoadThatWasSeenToChangeIsMarkedAsNotSettled) {
  for (const auto& [verdict, marked] : {std::pair(Steadiness::Verdict::never_steady, true),
                                        std::pair(Steadiness::Verdict::not_shown, false)}) {
    Measurement measurement = with_effect(Load::sustained, {});
    measurement.steadiness = Steadiness{.verdict = verdict, .watched = seconds(1), .settled_after = {}};
    const auto findings = found(simulated::result_of({measurement}), "no_steady_state");
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(!findings[0].places.empty(), marked);
  }
}

TEST(Places, WhatIsTrueAtAllTimesHasNone) {
  simulated::Record record;
  record.clock = megahertz(1300);
  const auto findings = found(simulated::result_of({simulated::measure(record, 1)}), "clock_below_maximum");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].places, IsEmpty());
}

}  // namespace
}  // namespace jitterscope
