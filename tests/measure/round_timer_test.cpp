#include "measure/round_timer.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "jitterscope/error.hpp"
#include "measure/round_runner.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::DoubleNear;
using testing::Each;

Script exact_script(Nanoseconds launch_time) {
  Script script;
  script.events_noise = script.grain = Nanoseconds(0);
  script.launch_time = [launch_time](const auto&) { return launch_time; };
  return script;
}

std::vector<double> read_round(Bench& bench, RoundTimer& timer) {
  std::vector<Mark> marks;
  if (timer.may_be_held()) bench.queue->hold();
  timer.enqueue(marks);
  bench.queue->release();
  bench.queue->wait();
  std::vector<double> values;
  for (const Nanoseconds time : timer.read(marks)) values.push_back(time.value());
  return values;
}

TEST(EventTimer, TakesTheConstantOffEachValue) {
  Bench bench(exact_script(microseconds(30)));
  const InstrumentConstant constant{microseconds(2), Nanoseconds(0), Nanoseconds(0)};
  const auto timer = make_event_timer(bench.work(), 6, 1, constant);
  const std::vector<double> values = read_round(bench, *timer);
  EXPECT_EQ(values.size(), 6u);
  EXPECT_THAT(values, Each(DoubleNear(30e3, 1e-3)));
  EXPECT_EQ(timer->constant().value, microseconds(2));
}

TEST(EventTimer, GroupsShareOneConstant) {
  Bench bench(exact_script(microseconds(30)));
  const InstrumentConstant constant{microseconds(2), Nanoseconds(0), Nanoseconds(0)};
  const auto timer = make_event_timer(bench.work(), 3, 5, constant);
  const std::vector<double> values = read_round(bench, *timer);
  EXPECT_EQ(values.size(), 3u);
  EXPECT_THAT(values, Each(DoubleNear(30e3, 1e-3)));
  EXPECT_EQ(timer->launches_per_value(), 5);
}

TEST(EventTimer, EvictionIsSetBeforeEachLaunchAndNotTimed) {
  Script script = exact_script(Nanoseconds(0));
  script.launch_time = [](const LaunchContext& context) {
    return context.cache == CacheState::cold ? microseconds(40) : microseconds(30);
  };
  script.eviction_time = microseconds(77);
  Bench bench(script);
  const InstrumentConstant constant{microseconds(2), Nanoseconds(0), Nanoseconds(0)};
  const auto timer = make_event_timer(bench.work(CacheState::cold), 4, 1, constant);
  const std::vector<double> values = read_round(bench, *timer);
  EXPECT_EQ(values.size(), 4u);
  EXPECT_THAT(values, Each(DoubleNear(40e3, 1e-3)));
}

TEST(SlopeTimer, RecoversTheLaunchTimeWithAnyMarkConstant) {
  for (const double mark : {0.0, 1e3, 20e3}) {
    Script script = exact_script(microseconds(3));
    script.events_constant = Nanoseconds(mark);
    Bench bench(script);
    const auto timer = make_slope_timer(bench.work(), {.short_launches = 10, .long_launches = 30, .pairs = 4},
                                        {script.node_constant, Nanoseconds(0), Nanoseconds(0)});
    const std::vector<double> values = read_round(bench, *timer);
    EXPECT_EQ(values.size(), 4u);
    EXPECT_THAT(values, Each(DoubleNear(3e3, 1e-3)));
    EXPECT_EQ(timer->launches_per_value(), 20);
  }
}

TEST(SlopeTimer, EvictionsCancel) {
  Script script = exact_script(Nanoseconds(0));
  script.launch_time = [](const LaunchContext& context) {
    return context.cache == CacheState::dirty ? microseconds(5) : microseconds(3);
  };
  Bench bench(script);
  const auto timer =
      make_slope_timer(bench.work(CacheState::dirty), {.short_launches = 0, .long_launches = 20, .pairs = 2},
                       {script.node_constant, Nanoseconds(0), Nanoseconds(0)});
  EXPECT_THAT(read_round(bench, *timer), Each(DoubleNear(5e3, 1e-3)));
  EXPECT_EQ(timer->launches_per_value(), 20);
}

TEST(HostTimer, ReadsLaunchAndWaitTogether) {
  Script script = exact_script(microseconds(30));
  script.launch_cost = [](auto) { return microseconds(4); };
  script.wait_cost = microseconds(6);
  Bench bench(script);
  const auto timer = make_host_timer(bench.work(CacheState::cold), 5);
  const std::vector<double> values = read_round(bench, *timer);
  EXPECT_EQ(values.size(), 5u);
  EXPECT_THAT(values, Each(DoubleNear(40e3, 1e-3)));
  EXPECT_EQ(timer->constant().value, Nanoseconds(0));
}

TEST(TraceTimer, TakesFirstStartToLastEndOfEachLaunch) {
  for (const std::int64_t kernels : {1, 3}) {
    Script script = exact_script(microseconds(30));
    script.kernels_per_launch = kernels;
    Bench bench(script);
    const auto timer = make_trace_timer(bench.work(), 5);
    const std::vector<double> values = read_round(bench, *timer);
    EXPECT_EQ(values.size(), 5u);
    EXPECT_THAT(values, Each(DoubleNear(30e3, 1e-3)));
  }
}

// Inputs produced anew are written by kernels between the launches.
TEST(TraceTimer, KernelsThatNoLaunchMadeAreNotCounted) {
  Script script = exact_script(microseconds(30));
  script.kernels_per_launch = 2;
  script.stray_kernels = 2;
  Bench bench(script);
  const auto timer = make_trace_timer(bench.work(CacheState::produced), 5);
  EXPECT_THAT(read_round(bench, *timer), Each(DoubleNear(30e3, 1e-3)));
}

TEST(TraceTimer, LostRecordsAreAFailure) {
  for (const std::int64_t lost : {1, 15}) {
    Script script = exact_script(microseconds(30));
    script.kernels_per_launch = 3;
    script.lost_records = lost;
    Bench bench(script);
    const auto timer = make_trace_timer(bench.work(), 5);
    EXPECT_THROW(read_round(bench, *timer), FailedError);
  }
}

TEST(EagerRound, IncludesTheHostWhereTheHostIsSlower) {
  Script script = exact_script(microseconds(1));
  script.launch_cost = [](auto) { return microseconds(9); };
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  Bench bench(script);
  RoundRunner runner(bench.work(), RoundShape(), eager, Calibration());
  const Round round = runner.run_held_round(milliseconds(20), Nanoseconds(0));
  ASSERT_EQ(round.launches.size(), 1u);
  EXPECT_EQ(round.launches_per_value, 20);
  EXPECT_NEAR(round.time().value(), 9e3, 200);
}

TEST(EagerRound, IsUncertainByAConstantThatItKeeps) {
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  Bench bench;
  for (const double constant : {2900.0, -20.0}) {
    Calibration calibration;
    calibration.events.value = Nanoseconds(constant);
    const RoundRunner runner(bench.work(), RoundShape(), eager, calibration);
    EXPECT_EQ(runner.timer().constant().value, Nanoseconds(0));
    EXPECT_EQ(runner.timer().constant().uncertainty, Nanoseconds(std::abs(constant)));
  }
}

TEST(EagerRound, IsColdAtEachLaunch) {
  Script script = exact_script(Nanoseconds(0));
  script.launch_time = [](const LaunchContext& context) {
    return context.cache == CacheState::cold ? microseconds(40) : microseconds(30);
  };
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  Calibration calibration;
  calibration.events.value = script.events_constant;
  Bench bench(script);
  RoundRunner runner(bench.work(CacheState::cold), RoundShape(), eager, calibration);
  const Round round = runner.run_held_round(milliseconds(20), Nanoseconds(0));
  EXPECT_NEAR(round.time().value(), 40e3, 1.0);
}

TEST(EagerRound, HoldsAllLaunchesWhereTheGrainIsCoarse) {
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  Calibration calibration;
  calibration.events.grain = Nanoseconds(1000);
  Bench bench;
  const RoundShape shape = shape_round(microseconds(100), CacheState::warm, Load::burst, eager, calibration);
  RoundRunner runner(bench.work(), shape, eager, calibration);
  EXPECT_GE(runner.run_held_round(milliseconds(20), Nanoseconds(0)).launches_per_value, 18);
}

struct WaitsForItsQueue final : Workload {
  void run(NativeQueue queue) override {
    launch_kernel(queue);
    wait_for_queue(queue);
  }
};

// A shape that nobody gave a patience has one, which a lost round doubles.
TEST(HeldRound, ThatIsLostDoublesThePatience) {
  Script script;
  script.can_limit_hold = true;
  Bench bench(script);
  WaitsForItsQueue workload;
  const MeasureOptions options;
  const RoundShape shape =
      shape_round(microseconds(100), CacheState::warm, Load::burst, options, Calibration());
  RoundRunner runner({bench.device, *bench.queue, workload, CacheState::warm}, shape, options, Calibration());
  for (const double patience : {1.0, 2.0, 4.0, 8.0, 10.0, 10.0}) {
    const Nanoseconds began = bench.device.host_time();
    EXPECT_THROW(runner.run_held_round(Nanoseconds(0), Nanoseconds(0)), HoldTimeoutError);
    EXPECT_NEAR(to_seconds(bench.device.host_time() - began), patience, 0.1);
  }
}

}  // namespace
}  // namespace jitterscope::scripted
