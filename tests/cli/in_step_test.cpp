// Workers that measure at the same time and follow one decision.
#include "worker/in_step.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "jitterscope/error.hpp"
#include "support/watched_partner.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

std::vector<WorkerPlan> plans_on(const std::vector<std::string>& devices, const MeasureOptions& options,
                                 const std::string& operation = "relu:count=1Mi") {
  std::vector<WorkerPlan> plans;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    WorkerPlan plan;
    plan.device = devices[i];
    plan.device_seed = i + 1;
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

// Interrupts once the processes were told so many lines.
std::vector<RunRecord> run_interrupted(const std::vector<WorkerPlan>& plans, int after) {
  int most = 0;
  return run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE,
                             .start = [&](std::size_t number) -> std::unique_ptr<Partner> {
                               return std::make_unique<test::WatchedPartner>(
                                   std::make_unique<LocalPartner>(JITTERSCOPE_EXECUTABLE,
                                                                  "process " + std::to_string(number)),
                                   [&](int told) { most = std::max(most, told); });
                             },
                             .interrupted = [&] { return most > after; }});
}

TEST(InStep, AnInterruptionStopsAllInTheMiddleOfThePlan) {
  MeasureOptions options = briefly(Load::burst);
  options.precision = 1e-9;
  options.minimum_rounds = 100000;
  options.time_limit = seconds(1e5);
  const std::vector<RunRecord> records =
      run_interrupted(plans_on({"virtual:h200", "virtual:h200"}, options), 100);
  ASSERT_EQ(records.size(), 2u);
  for (const RunRecord& record : records) {
    const auto& measurements = record.entries.at(0).result.measurements;
    ASSERT_FALSE(measurements.empty());
    EXPECT_EQ(measurements[0].stop_reason, StopReason::interrupted);
    EXPECT_GT(measurements[0].rounds.size(), 5u);
    EXPECT_TRUE(record.interrupted);
  }
}

TEST(InStep, AnInterruptionStopsASustainedLoadAndWhatWouldFollow) {
  MeasureOptions options = briefly(Load::sustained);
  options.precision = 1e-9;
  options.sustained_time_limit = seconds(1e5);
  std::vector<WorkerPlan> plans = plans_on({"virtual:h200", "virtual:h200"}, options);
  for (WorkerPlan& plan : plans) plan.plan.groups.push_back({{Operation::parse("add:count=1Ki"), options}});
  const std::vector<RunRecord> records = run_interrupted(plans, 30);
  for (const RunRecord& record : records) {
    EXPECT_TRUE(record.interrupted);
    ASSERT_EQ(record.entries.size(), 1u) << "the second group was not begun";
    EXPECT_EQ(record.entries[0].result.measurements.at(0).stop_reason, StopReason::interrupted);
  }
}

TEST(InStep, SeveralGroupsAndPairsStayInStep) {
  std::vector<WorkerPlan> plans = plans_on({"virtual:h200", "virtual:a100"}, briefly(Load::burst));
  for (WorkerPlan& plan : plans) {
    const MeasureOptions options = plan.plan.groups[0][0].options;
    plan.plan.groups.push_back(
        {{Operation::parse("add:count=1Mi"), options}, {Operation::parse("mul:count=1Mi"), options}});
    plan.plan.groups.push_back({{Operation::parse("copy:bytes=1Mi"), options}});
  }
  const std::vector<RunRecord> records = run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE});
  ASSERT_EQ(records[0].entries.size(), 4u);
  ASSERT_EQ(records[1].entries.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& first = records[0].entries[i].result.measurements;
    const auto& second = records[1].entries[i].result.measurements;
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t j = 0; j < first.size(); ++j) EXPECT_EQ(first[j].rounds.size(), second[j].rounds.size());
  }
}

TEST(InStep, ATrialThatFailsInOneProcessEndsAllWithItsReason) {
  const std::vector<WorkerPlan> plans =
      plans_on({"virtual:h200", "virtual:laptop"}, briefly(Load::burst), "relu:count=8Gi");
  try {
    run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE});
    FAIL() << "the laptop's memory does not hold it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("memory"));
  }
}

TEST(InStep, EnginesThatEachProcessWouldChooseAreRefused) {
  EXPECT_THROW(run_in_step(plans_on({"virtual:h200", "virtual:h200"}, briefly(Load::burst),
                                    "conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1,engine=best"),
                           {.executable = JITTERSCOPE_EXECUTABLE}),
               UsageError);
}

TEST(InStep, TheErrorOfOneIsThrown) {
  EXPECT_THROW(run_in_step(plans_on({"virtual:h200", "virtual:nothing"}, briefly(Load::burst)),
                           {.executable = JITTERSCOPE_EXECUTABLE}),
               UsageError);
}

}  // namespace
}  // namespace jitterscope
