#include "output/cells.hpp"

#include <gmock/gmock.h>

#include "measure/rates_and_totals.hpp"

namespace jitterscope {
namespace {

Result result_in(QueueMode queue, bool waits) {
  Result result;
  result.subject = Callable{waits ? "waits" : "returns"};
  result.waits_for_device = waits;
  result.measurements.emplace_back().conditions.queue = queue;
  return result;
}

RunRecord record_of(const std::vector<Result>& results) {
  RunRecord record;
  for (const Result& result : results) record.entries.emplace_back().result = result;
  return record;
}

TEST(ConditionLabels, WhatHadToRunEagerlyStandsBesideTheRest) {
  const RunRecord record =
      record_of({result_in(QueueMode::eager, true), result_in(QueueMode::saturated, false)});
  const ConditionLabels labels = label_conditions(record);
  EXPECT_THAT(labels.labels, testing::ElementsAre("warm burst"));
  for (const RunEntry& entry : record.entries) {
    EXPECT_EQ(find_measurement(entry.result, labels.conditions[0]), &entry.result.measurements[0]);
  }
}

TEST(ConditionLabels, AloneItIsEager) {
  const ConditionLabels labels = label_conditions(record_of({result_in(QueueMode::eager, true)}));
  ASSERT_EQ(labels.conditions.size(), 1u);
  EXPECT_EQ(labels.conditions[0].queue, QueueMode::eager);
}

TEST(ConditionLabels, QueuesThatWereAskedForStayApart) {
  const ConditionLabels labels = label_conditions(
      record_of({result_in(QueueMode::saturated, false), result_in(QueueMode::eager, false)}));
  EXPECT_THAT(labels.labels, testing::ElementsAre("warm burst saturated", "warm burst eager"));
}

}  // namespace
}  // namespace jitterscope
