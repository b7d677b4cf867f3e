// Loops of launches, kernels of a launch, operands in turn.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "measure/iterations.hpp"
#include "measure/launch_kernels.hpp"
#include "measure/measure_operation.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

const Operation kAdd = Operation::parse("add:count=1024");

TEST(Iterations, TheFirstLaunchOfEachLoopIsTold) {
  Laboratory laboratory;
  laboratory.device.script().events_noise = Nanoseconds(0);
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return context.index == 0 ? microseconds(300) : microseconds(100);
  };
  MeasureOptions options;
  options.iterations = {1, 10, 1000};
  const std::vector<IterationRun> runs = run_iterations(laboratory.session, kAdd, options);
  ASSERT_EQ(runs.size(), 3u);
  for (const IterationRun& run : runs) {
    EXPECT_NEAR(run.first.value(), 300e3, 100);
    EXPECT_NEAR(run.maximum.value(), 300e3, 100);
  }
  EXPECT_NEAR(runs[0].mean.value(), 300e3, 100);
  EXPECT_NEAR(runs[1].mean.value(), 120e3, 100);
  EXPECT_NEAR(runs[2].mean.value(), 100.2e3, 100);
  EXPECT_NEAR(runs[2].minimum.value(), 100e3, 100);
}

TEST(Iterations, TheClockIsReadBehindPowersOfTwoAndAtTheEnd) {
  Laboratory laboratory;
  laboratory.device.script().clock = [](Nanoseconds) { return megahertz(1500); };
  MeasureOptions options;
  options.iterations = {10};
  const auto clocks = run_iterations(laboratory.session, kAdd, options).front().clocks;
  std::vector<std::int64_t> launches;
  for (const auto& point : clocks) {
    launches.push_back(point.launch);
    EXPECT_NEAR(point.clock.value(), 1.5e9, 1e6);
  }
  EXPECT_THAT(launches, testing::ElementsAre(1, 2, 4, 8, 10));
}

TEST(LaunchKernels, EachKernelOfALaunchHasItsMedian) {
  Laboratory laboratory;
  laboratory.device.script().kernels_per_launch = 3;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(90); };
  const auto prepared = laboratory.device.prepare(kAdd, {});
  const auto kernels = trace_launch(laboratory.device, laboratory.session.queue(), *prepared);
  ASSERT_EQ(kernels.size(), 3u);
  for (const LaunchKernel& kernel : kernels) EXPECT_NEAR(kernel.median.value(), 30e3, 1e3);
}

TEST(LaunchKernels, LostRecordsAreNoKernels) {
  Laboratory laboratory;
  laboratory.device.script().lost_records = 1;
  const auto prepared = laboratory.device.prepare(kAdd, {});
  EXPECT_THROW(trace_launch(laboratory.device, laboratory.session.queue(), *prepared), FailedError);
}

TEST(FreshData, EachLaunchTakesTheNextSetOfOperands) {
  Laboratory laboratory;
  std::int64_t most_launches_of_a_set = 0, launches = 0;
  laboratory.device.script().launch_time = [&](const LaunchContext& context) {
    if (context.operation != nullptr && *context.operation == kAdd) {
      ++launches;
      most_launches_of_a_set = std::max(most_launches_of_a_set, context.index + 1);
    }
    return microseconds(100);
  };
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.fresh_data = true;
  measure_operation(laboratory.session, kAdd, options, false);
  // 12 KiB of operands: three times the cache of 50 MB holds more sets than the 256 that are made at most.
  EXPECT_NEAR(static_cast<double>(launches) / static_cast<double>(most_launches_of_a_set), 256, 20);
}

}  // namespace
}  // namespace jitterscope::scripted
