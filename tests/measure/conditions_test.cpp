// Which conditions of two measurements differ.
#include <gmock/gmock.h>

#include "jitterscope/measurement.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Timed {
  Result result;
  Measurement measurement;
};

std::vector<ConditionDifference> differences(const Timed& first, const Timed& second) {
  return differing_conditions(first.result, first.measurement, second.result, second.measurement);
}

TEST(ConditionDifferences, WhatWasTimedAlikeHasNone) { EXPECT_THAT(differences({}, {}), IsEmpty()); }

TEST(ConditionDifferences, AllThatWasSetIsComparedInOrder) {
  Timed first, second;
  first.result.provider = second.result.provider = "cudnn";
  first.result.algorithm = "eng1";
  second.result.algorithm = "eng2";
  first.measurement.conditions.cache = CacheState::cold;
  first.measurement.conditions.data.reset();
  first.measurement.conditions.fresh_data = true;
  second.measurement.conditions.locked_clock = megahertz(1200);
  second.measurement.conditions.placement = 3;
  second.measurement.conditions.seed = 7;
  EXPECT_THAT(differences(first, second),
              ElementsAre(ConditionDifference{"cache", "cold", "warm"},
                          ConditionDifference{"data", std::nullopt, "normal"},
                          ConditionDifference{"fresh_data", true, false},
                          ConditionDifference{"locked_clock_hz", std::nullopt, 1.2e9},
                          ConditionDifference{"placement", std::nullopt, std::int64_t{3}},
                          ConditionDifference{"seed", std::int64_t{1}, std::int64_t{7}},
                          ConditionDifference{"algorithm", "eng1", "eng2"}));
}

}  // namespace
}  // namespace jitterscope
