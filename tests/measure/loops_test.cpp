// Loops of launches, kernels of a launch, operands in turn.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/operand_sets.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

const Operation kLoopedAdd = Operation::parse("add:count=1024");

TEST(Iterations, TheFirstLaunchOfEachLoopIsTold) {
  Laboratory laboratory;
  laboratory.device.script().events_noise = Nanoseconds(0);
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return context.index == 0 ? microseconds(300) : microseconds(100);
  };
  MeasureOptions options;
  options.iterations = {1, 10, 1000};
  const std::vector<IterationRun> runs = run_iterations(laboratory.session, kLoopedAdd, options);
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
  const auto clocks = run_iterations(laboratory.session, kLoopedAdd, options).front().clocks;
  std::vector<std::int64_t> launches;
  for (const auto& point : clocks) {
    launches.push_back(point.launch);
    EXPECT_NEAR(point.clock.value(), 1.5e9, 1e6);
  }
  EXPECT_THAT(launches, testing::ElementsAre(1, 2, 4, 8, 10));
}

TEST(Iterations, NoLaunchWaitsForTheOneBefore) {
  Laboratory laboratory;
  laboratory.device.script().clock = [](Nanoseconds) { return megahertz(1500); };
  laboratory.device.log().clear();
  MeasureOptions options;
  options.iterations = {5000};
  const IterationRun run = run_iterations(laboratory.session, kLoopedAdd, options).front();
  EXPECT_EQ(run.count, 5000);
  EXPECT_NEAR(run.mean.value(), 100e3, 100);
  EXPECT_EQ(count_of(laboratory.device.log(), Call::wait), 2);  // before the rest, and at the end
  EXPECT_EQ(run.clocks.size(), 14u);
  EXPECT_NEAR(run.clocks[12].clock.value(), 1.5e9, 1e6);
}

TEST(Iterations, TheFirstLaunchsCallIsTimedOnTheHost) {
  Laboratory laboratory;
  laboratory.device.script().launch_cost = [](std::int64_t index) {
    return index == 0 ? milliseconds(20) : microseconds(3);
  };
  MeasureOptions options;
  options.iterations = {10};
  const IterationRun run = run_iterations(laboratory.session, kLoopedAdd, options).front();
  EXPECT_NEAR(run.first_launch_call.value(), 20e6, 10);
  EXPECT_NEAR(run.first.value(), 20.1e6, 1e4);  // the GPU waits for it between the marks
  EXPECT_NEAR(run.median.value(), 100e3, 100);
}

TEST(Iterations, AnInterruptionEndsALoopAndKeepsWhatThereIs) {
  Laboratory laboratory;
  laboratory.device.script().clock = [](Nanoseconds) { return megahertz(1500); };
  int asked = 0;
  MeasureOptions options;
  options.iterations = {1000000, 10};
  options.interrupted = [&] { return ++asked > 100; };
  const std::vector<IterationRun> runs = run_iterations(laboratory.session, kLoopedAdd, options);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].count, 100);
  EXPECT_NEAR(runs[0].mean.value(), 100e3, 100);
  ASSERT_FALSE(runs[0].clocks.empty());
  EXPECT_EQ(runs[0].clocks.back().launch, 100);
}

TEST(LaunchKernels, EachKernelOfALaunchHasItsMedian) {
  Laboratory laboratory;
  laboratory.device.script().kernels_per_launch = 3;
  laboratory.device.script().launch_time = [](const auto&) { return microseconds(90); };
  const auto prepared = laboratory.device.prepare(kLoopedAdd, {});
  const auto kernels =
      trace_launch(laboratory.device, laboratory.session.queue(), *prepared, Holding::possible).kernels;
  ASSERT_EQ(kernels.size(), 3u);
  for (const LaunchKernel& kernel : kernels) EXPECT_NEAR(kernel.median.value(), 30e3, 1e3);
}

TEST(LaunchKernels, LostRecordsAreNoKernels) {
  Laboratory laboratory;
  laboratory.device.script().lost_records = 1;
  const auto prepared = laboratory.device.prepare(kLoopedAdd, {});
  EXPECT_THROW(trace_launch(laboratory.device, laboratory.session.queue(), *prepared, Holding::possible),
               FailedError);
}

TEST(LaunchKernels, AMissingTracerCostsNoTimes) {
  Laboratory laboratory;
  laboratory.device.script().can_trace = false;
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.kernels = true;
  const Result result = measure_operation(laboratory.session, kLoopedAdd, options, false);
  ASSERT_EQ(result.measurements.size(), 1u);
  EXPECT_GE(result.measurements[0].time.rounds, 10);
  ASSERT_TRUE(result.without_kernels.has_value());
  EXPECT_EQ(result.without_kernels->exit_code, ExitCode::missing);
  EXPECT_FALSE(result.without_kernels->reason.empty());
}

}  // namespace
}  // namespace jitterscope::scripted
