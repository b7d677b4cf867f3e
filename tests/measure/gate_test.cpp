#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "measure/round_runner.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using enum Call;
using testing::ElementsAre;

RoundShape shape_of(std::int64_t values) {
  RoundShape shape;
  shape.values = values;
  return shape;
}

TEST(Gate, WarmRoundIsInOrder) {
  Bench bench;
  RoundRunner runner(bench.work(), shape_of(3), MeasureOptions(), Calibration());
  runner.run_held_round(milliseconds(30), Nanoseconds(0));
  EXPECT_THAT(bench.device.queue_calls(),
              ElementsAre(idle, hold, set_cache, launch, set_cache, launch, stamp, mark, launch, mark, launch,
                          mark, launch, mark, stamp, mark, release, wait, release, wait_for));
}

TEST(Gate, ColdRoundEvictsBeforeEachLaunchAndMarksAfterEviction) {
  Bench bench;
  RoundRunner runner(bench.work(CacheState::cold), shape_of(2), MeasureOptions(), Calibration());
  runner.run_held_round(milliseconds(30), Nanoseconds(0));
  EXPECT_THAT(bench.device.queue_calls(), ElementsAre(idle, hold, set_cache, launch, set_cache, launch, stamp,
                                                      set_cache, mark, launch, mark, set_cache, mark, launch,
                                                      mark, stamp, mark, release, wait, release, wait_for));
  for (const LoggedCall& logged : bench.device.log()) {
    EXPECT_TRUE(logged.call != set_cache || logged.cache == CacheState::cold);
  }
}

TEST(Gate, EachPartOfARoundHasItsOwnGateAndConditioning) {
  Bench bench;
  RoundShape shape = shape_of(4);
  shape.parts = 2;
  RoundRunner runner(bench.work(), shape, MeasureOptions(), Calibration());
  const Round round = runner.run_held_round(milliseconds(30), Nanoseconds(0));
  EXPECT_EQ(std::ssize(round.launches), 4);
  EXPECT_EQ(count_of(bench.device.log(), hold), 2);
  EXPECT_EQ(count_of(bench.device.log(), launch), 4 + 2 * 2);
  EXPECT_EQ(count_of(bench.device.log(), idle), 1);
}

TEST(Gate, RoundWithoutIdleDoesNotIdle) {
  Bench bench;
  RoundRunner runner(bench.work(), shape_of(1), MeasureOptions(), Calibration());
  runner.run_held_round(Nanoseconds(0), Nanoseconds(0));
  EXPECT_EQ(count_of(bench.device.log(), idle), 0);
}

TEST(Gate, ConditioningLaunchesAreCounted) {
  for (const std::int64_t count : {0, 1, 5}) {
    Bench bench;
    RoundShape shape = shape_of(4);
    shape.conditioning_launches = count;
    RoundRunner runner(bench.work(), shape, MeasureOptions(), Calibration());
    const Round round = runner.run_held_round(milliseconds(30), Nanoseconds(0));
    EXPECT_EQ(count_of(bench.device.log(), launch), 4 + count);
    EXPECT_EQ(std::ssize(round.launches), 4);
  }
}

TEST(Gate, IsOpenAfterAFailureAnywhereInTheRound) {
  for (const Call call : {hold, set_cache, launch, mark, stamp, wait_for, wait, elapsed, sensors}) {
    for (const std::int64_t number : {1, 2, 3}) {
      Script script;
      script.failure = Failure{call, number};
      Bench bench(script);
      RoundRunner runner(bench.work(), shape_of(3), MeasureOptions(), Calibration());
      const auto three_rounds = [&] {
        for (int i = 0; i < 3; ++i) runner.run_held_round(milliseconds(30), Nanoseconds(0));
      };
      EXPECT_THROW(three_rounds(), FailedError);
      EXPECT_FALSE(bench.device.state().is_held);
      EXPECT_NO_THROW(bench.queue->wait());
    }
  }
}

TEST(Gate, EagerRoundsAndHostInstrumentsHaveNone) {
  Bench bench;
  MeasureOptions eager;
  eager.queue = QueueMode::eager;
  RoundRunner(bench.work(), shape_of(3), eager, Calibration())
      .run_held_round(milliseconds(30), Nanoseconds(0));
  RoundShape shape = shape_of(3);
  shape.instrument = Instrument::host;
  RoundRunner(bench.work(), shape, MeasureOptions(), Calibration())
      .run_held_round(milliseconds(30), Nanoseconds(0));
  EXPECT_EQ(count_of(bench.device.log(), hold), 0);
}

// As a program replays its graph, which costs the host a launch each time.
TEST(Gate, AGraphThatIsReadByEventsIsReplayedWithoutOne) {
  for (const Instrument instrument : {Instrument::events, Instrument::host}) {
    Bench bench;
    MeasureOptions graph;
    graph.queue = QueueMode::graph;
    RoundShape shape = shape_of(3);
    shape.instrument = instrument;
    RoundRunner runner(bench.work(), shape, graph, Calibration());
    EXPECT_EQ(runner.workload(), bench.operation.get());
    runner.run_held_round(milliseconds(30), Nanoseconds(0));
    EXPECT_EQ(count_of(bench.device.log(), hold), 0);
    EXPECT_EQ(count_of(bench.device.log(), replay), 3 + shape.conditioning_launches);
  }
}

TEST(Gate, TracedRoundsCloseOneWithinTheTracer) {
  Bench bench;
  RoundShape shape = shape_of(3);
  shape.instrument = Instrument::cupti;
  RoundRunner runner(bench.work(), shape, MeasureOptions(), Calibration());
  const Round round = runner.run_held_round(milliseconds(30), Nanoseconds(0));
  EXPECT_EQ(count_of(bench.device.log(), hold), 1);
  EXPECT_THAT(round.launches, testing::SizeIs(3));
  EXPECT_FALSE(bench.device.state().is_held);
}

}  // namespace
}  // namespace jitterscope::scripted
