// Operands that no launch has touched lately: as many sets as outgrow the cache, or a refusal.
#include <gmock/gmock.h>

#include <functional>

#include "jitterscope/error.hpp"
#include "measure/operand_sets.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::HasSubstr;

// 768 KiB of operands against the scripted device's cache of 50 MB.
const Operation kFreshAdd = Operation::parse("add:count=64Ki");

MeasureOptions fresh() {
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.fresh_data = true;
  return options;
}

TEST(FreshData, TheSetsAreThreeTimesTheCacheBesideTheOneInUse) {
  Laboratory laboratory;
  const DeviceDescription device = laboratory.device.describe();
  const auto sets = static_cast<std::int64_t>(sets_for_fresh_data(device, kFreshAdd));
  const std::int64_t between = (sets - 1) * kFreshAdd.bytes().value();
  EXPECT_GE(between, 3 * device.last_level_cache.value());
  EXPECT_LT(between, 3 * device.last_level_cache.value() + kFreshAdd.bytes().value());
}

TEST(FreshData, EachLaunchTakesTheNextSetOfOperands) {
  Laboratory laboratory;
  std::int64_t most_launches_of_a_set = 0, launches = 0;
  laboratory.device.script().launch_time = [&](const LaunchContext& context) {
    if (context.operation != nullptr && *context.operation == kFreshAdd) {
      ++launches;
      most_launches_of_a_set = std::max(most_launches_of_a_set, context.index + 1);
    }
    return microseconds(100);
  };
  const Result result = measure_operation(laboratory.session, kFreshAdd, fresh(), false);
  const auto sets = static_cast<double>(sets_for_fresh_data(laboratory.device.describe(), kFreshAdd));
  EXPECT_NEAR(static_cast<double>(launches) / static_cast<double>(most_launches_of_a_set), sets, sets / 2);
  EXPECT_TRUE(result.measurements.at(0).conditions.fresh_data);
}

// A recording holds the sets that it was made with, and replays those few out of the cache.
TEST(FreshData, IsNotReadByRecordings) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(3); };
  const Result same =
      measure_operation(laboratory.session, kFreshAdd, one_condition(CacheState::warm, Load::burst), false);
  EXPECT_EQ(same.measurements.at(0).instrument, Instrument::graph);
  EXPECT_FALSE(same.measurements.at(0).conditions.fresh_data);
  const Result result = measure_operation(laboratory.session, kFreshAdd, fresh(), false);
  EXPECT_EQ(result.measurements.at(0).instrument, Instrument::events);
}

TEST(FreshData, ReachesTheLoopsToo) {
  Laboratory laboratory;
  std::int64_t most_launches_of_a_set = 0;
  laboratory.device.script().launch_time = [&](const LaunchContext& context) {
    most_launches_of_a_set = std::max(most_launches_of_a_set, context.index + 1);
    return microseconds(100);
  };
  MeasureOptions options = fresh();
  options.iterations = {1, 50};
  run_iterations(laboratory.session, kFreshAdd, options);
  EXPECT_EQ(most_launches_of_a_set, 1);
}

std::string refusal(DeviceDescription device, const std::string& operation,
                    const std::function<void(DeviceDescription&)>& change = {}) {
  if (change) change(device);
  try {
    sets_for_fresh_data(device, Operation::parse(operation));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(FreshData, WhatCannotOutgrowTheCacheIsRefusedWithBothNumbers) {
  Laboratory laboratory;
  const DeviceDescription device = laboratory.device.describe();
  const std::string small = refusal(device, "add:count=1024");
  EXPECT_THAT(small, HasSubstr("12 KiB"));
  EXPECT_THAT(small, HasSubstr("4096 are made at most"));
  EXPECT_THAT(small, HasSubstr("--cache cold"));
  const std::string full =
      refusal(device, "add:count=64Ki", [](DeviceDescription& d) { d.memory_free = Bytes(100 << 20); });
  EXPECT_THAT(full, HasSubstr("100 MiB of memory are free"));
  const std::string unknown =
      refusal(device, "add:count=64Ki", [](DeviceDescription& d) { d.last_level_cache = Bytes(0); });
  EXPECT_THAT(unknown, HasSubstr("does not say how large"));
}

}  // namespace
}  // namespace jitterscope::scripted
