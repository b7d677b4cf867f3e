// Workers that measure at the same time and follow one decision.
#include "worker/in_step.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<WorkerPlan> plans_on(const std::vector<std::string>& devices, const MeasureOptions& options,
                                 const std::string& operation = "relu:count=1Mi") {
  std::vector<WorkerPlan> plans;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    WorkerPlan plan{.device = devices[i], .device_seed = i + 1};
    plan.plan.groups = {{{Operation::parse(operation), options}}};
    plan.plan.ceilings = false;
    plans.push_back(plan);
  }
  return plans;
}

MeasureOptions briefly(Load load) {
  MeasureOptions options;
  options.caches = {CacheState::warm, CacheState::cold};
  options.loads = {load};
  options.sustained_time_limit = seconds(2);
  return options;
}

void expect_in_step(const std::vector<RunRecord>& records) {
  ASSERT_EQ(records.size(), 2u);
  const auto& first = records[0].entries.at(0).result.measurements;
  const auto& second = records[1].entries.at(0).result.measurements;
  ASSERT_EQ(first.size(), second.size());
  ASSERT_EQ(first.size(), 2u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    ASSERT_EQ(first[i].rounds.size(), second[i].rounds.size());
    EXPECT_EQ(first[i].stop_reason, second[i].stop_reason);
    for (std::size_t j = 0; j < first[i].rounds.size(); ++j) {
      EXPECT_EQ(first[i].rounds[j].launches.size(), second[i].rounds[j].launches.size());
      EXPECT_EQ(first[i].rounds[j].block, second[i].rounds[j].block);
      EXPECT_EQ(first[i].rounds[j].placement, second[i].rounds[j].placement);
    }
  }
  EXPECT_NE(first[0].time.median, second[0].time.median) << "each on a device of its own";
}

TEST(InStep, BurstsOfUnlikeDevicesHaveTheSameRounds) {
  expect_in_step(run_in_step(plans_on({"virtual:h200", "virtual:a100"}, briefly(Load::burst)),
                             {.executable = JITTERSCOPE_EXECUTABLE}));
}

TEST(InStep, LoadsOfUnlikeDevicesHaveTheSameRounds) {
  expect_in_step(run_in_step(plans_on({"virtual:h200", "virtual:a100"}, briefly(Load::sustained)),
                             {.executable = JITTERSCOPE_EXECUTABLE}));
}

TEST(InStep, AnInterruptionStopsAllInTheMiddleOfThePlan) {
  MeasureOptions options = briefly(Load::burst);
  options.precision = 1e-9;
  options.minimum_rounds = 100000;
  options.time_limit = seconds(1e5);
  int looks = 0;
  const std::vector<RunRecord> records =
      run_in_step(plans_on({"virtual:h200", "virtual:h200"}, options),
                  {.executable = JITTERSCOPE_EXECUTABLE, .interrupted = [&] { return ++looks > 100; }});
  ASSERT_EQ(records.size(), 2u);
  for (const RunRecord& record : records) {
    const auto& measurements = record.entries.at(0).result.measurements;
    ASSERT_FALSE(measurements.empty());
    EXPECT_EQ(measurements[0].stop_reason, StopReason::interrupted);
    EXPECT_GT(measurements[0].rounds.size(), 5u);
  }
}

TEST(InStep, TheErrorOfOneIsThrown) {
  EXPECT_THROW(run_in_step(plans_on({"virtual:h200", "virtual:nothing"}, briefly(Load::burst)),
                           {.executable = JITTERSCOPE_EXECUTABLE}),
               UsageError);
}

}  // namespace
}  // namespace jitterscope
