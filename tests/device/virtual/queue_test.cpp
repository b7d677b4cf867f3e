#include <gmock/gmock.h>

#include <stdexcept>

#include "device/virtual/gpus.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using testing::HasSubstr;

physics::Parameters with_instruments() {
  physics::Parameters gpu = plain_gpu();
  gpu.off[static_cast<std::size_t>(physics::Mechanism::instrument)] = false;
  return gpu;
}

Nanoseconds start_to_start(const Bench& bench, std::size_t index) {
  return bench.ran[index + 1].start - bench.ran[index].start;
}

TEST(VirtualQueue, AClosedGateHoldsWorkUntilItOpens) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=1000");
  bench.queue->hold();
  bench.queue->launch(*spin);
  bench.device->idle(milliseconds(3));
  bench.device->read_sensors();
  EXPECT_TRUE(bench.ran.empty());
  const Nanoseconds opened = bench.device->host_time();
  bench.queue->release();
  bench.queue->wait();
  ASSERT_EQ(bench.ran.size(), 1u);
  EXPECT_GE(bench.ran[0].start, opened);
  EXPECT_LT(bench.ran[0].start, opened + microseconds(2));
}

TEST(VirtualQueue, AClosedGateHoldsNoOtherQueue) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=1000");
  const auto second = bench.device->make_queue();
  bench.queue->hold();
  bench.queue->launch(*spin);
  const Mark before = second->mark();
  second->launch(*spin);
  const Mark behind = second->mark();
  second->wait();
  EXPECT_EQ(bench.ran.size(), 1u);
  EXPECT_GE(second->elapsed(before, behind), microseconds(1));
  bench.queue->wait();
  EXPECT_EQ(bench.ran.size(), 2u);
}

TEST(VirtualQueue, IsOnNoStreamOfAProgram) {
  Bench bench;
  int stream = 0;
  EXPECT_THROW(bench.device->adopt_queue(&stream), UsageError);
}

TEST(VirtualQueue, AnIdleQueueShowsTheHostsLaunches) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  for (int i = 0; i < 10; ++i) bench.queue->launch(*spin);
  bench.queue->wait();
  ASSERT_EQ(bench.ran.size(), 10u);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(start_to_start(bench, i).value(), 3000, 1) << i;
}

TEST(VirtualQueue, AGatedQueueShowsGapsOnly) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  bench.queue->hold();
  for (int i = 0; i < 10; ++i) bench.queue->launch(*spin);
  bench.queue->release();
  bench.queue->wait();
  ASSERT_EQ(bench.ran.size(), 10u);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(start_to_start(bench, i).value(), 2000, 1) << i;
}

TEST(VirtualQueue, WaitingOpensTheGate) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  bench.queue->hold();
  bench.queue->launch(*spin);
  bench.queue->wait();
  EXPECT_EQ(bench.ran.size(), 1u);
}

TEST(VirtualQueue, TheHostWaitsForTheGpu) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=1000000");
  const Nanoseconds start = bench.device->host_time();
  bench.queue->launch(*spin);
  EXPECT_NEAR((bench.device->host_time() - start).value(), 3000, 1);
  bench.queue->wait();
  EXPECT_NEAR((bench.device->host_time() - start).value(), 3e3 + 5e3 + 1e3 + 1e6 + 4e3, 1);
}

TEST(VirtualQueue, AGateThatIsForgottenOpensItselfAndTheNextWaitFails) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  bench.queue->hold();
  bench.queue->launch(*spin);
  bench.device->idle(seconds(11));
  try {
    bench.queue->wait();
    ADD_FAILURE() << "no error";
  } catch (const FailedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("released by its time limit of 10.0 s"));
  }
  bench.queue->wait();
}

TEST(VirtualQueue, MoreThanTheQueueHoldsBlocksTheHostBehindAGate) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  bench.queue->hold();
  for (int i = 0; i < 1023; ++i) bench.queue->launch(*spin);
  EXPECT_LT(bench.device->host_time(), milliseconds(10)) << "1024 entries fit, the gate's among them";
  bench.queue->launch(*spin);
  EXPECT_GT(bench.device->host_time(), seconds(10));
  EXPECT_THROW(bench.queue->wait(), FailedError);
}

TEST(VirtualQueue, AFullQueueLetsTheHostGoOnAsItEmpties) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=9000");
  for (int i = 0; i < 3000; ++i) bench.queue->launch(*spin);
  const double unfinished = 1024 * 11e3;
  EXPECT_NEAR(bench.device->host_time().value(), 3000 * 11e3 - unfinished, 3e6);
  bench.queue->wait();
  EXPECT_EQ(bench.ran.size(), 3000u);
}

TEST(VirtualQueue, AMarkThatIsNotPassedCannotBeRead) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=1000000");
  const Mark from = bench.queue->mark();
  bench.queue->launch(*spin);
  const Mark to = bench.queue->mark();
  EXPECT_THROW(bench.queue->elapsed(from, to), std::logic_error);
  bench.queue->wait_for(to);
  EXPECT_NEAR(bench.queue->elapsed(from, to).value(), 1'004'000, 40) << "the mark is 3 us before the launch";
}

TEST(VirtualQueue, AMarkBehindAClosedGateCannotBeReadAndWaitingForItOpensTheGate) {
  Bench bench;
  const Mark before = bench.queue->mark();
  bench.queue->hold();
  const Mark behind = bench.queue->mark();
  bench.device->idle(seconds(1));
  bench.queue->wait_for(before);
  EXPECT_THROW(bench.queue->elapsed(before, behind), std::logic_error);
  bench.queue->wait_for(behind);
  EXPECT_GE(bench.queue->elapsed(before, behind), seconds(1));
}

TEST(VirtualQueue, ASlotOfTheRingIsUsedAgain) {
  Bench bench;
  const Mark first = bench.queue->mark();
  for (std::uint32_t i = 1; i < Queue::kRingSize; ++i) bench.queue->mark();
  EXPECT_EQ(bench.queue->mark().slot, first.slot);
  bench.queue->wait();
}

TEST(VirtualQueue, MarksAddTheirOverheadToWhatIsBetween) {
  Bench bench(with_instruments());
  const auto spin = bench.prepare("spin:ns=10000");
  EXPECT_NEAR(bench.time_of(*spin).value(), 13'000, 40);
}

TEST(VirtualQueue, StampsGiveTheClock) {
  Bench bench(with_instruments());
  const auto spin = bench.prepare("spin:ns=5000000");
  const ClockStamp from = bench.queue->stamp_clock();
  bench.queue->launch(*spin);
  const ClockStamp to = bench.queue->stamp_clock();
  EXPECT_THROW(bench.queue->clock_between(from, to), std::logic_error);
  bench.queue->wait();
  const auto clock = bench.queue->clock_between(from, to);
  ASSERT_TRUE(clock);
  EXPECT_NEAR(clock->frequency.value(), 1e9, 1e5);
  EXPECT_NEAR(clock->window.value(), 5e6, 1e4);
  EXPECT_FALSE(bench.queue->clock_between(from, from));
}

TEST(VirtualQueue, TwoQueuesShareTheGpuAndAGateHoldsItsOwnOnly) {
  Bench bench;
  const auto other = bench.device->make_queue();
  const auto held = bench.prepare("spin:ns=1000"), passing = bench.prepare("spin:ns=2000");
  bench.queue->hold();
  bench.queue->launch(*held);
  other->launch(*passing);
  other->wait();
  ASSERT_EQ(bench.ran.size(), 1u);
  EXPECT_NEAR(bench.ran[0].time().value(), 3000, 1);
  bench.queue->wait();
  EXPECT_EQ(bench.ran.size(), 2u);
}

TEST(VirtualQueue, WorkEndsBeforeItsOperation) {
  Bench bench;
  bench.queue->launch(*bench.prepare("add:count=4096"));
  ASSERT_EQ(bench.ran.size(), 1u) << "freeing memory waits for what uses it";
  EXPECT_GE(bench.device->host_time(), bench.ran[0].end);
}

TEST(VirtualQueue, CacheStatesOrderTheTimesOfACopy) {
  Bench bench;
  const auto copy = bench.prepare("copy:bytes=8Mi");
  const Nanoseconds warm = bench.time_of(*copy), cold = bench.time_of(*copy, CacheState::cold),
                    dirty = bench.time_of(*copy, CacheState::dirty),
                    produced = bench.time_of(*copy, CacheState::produced);
  EXPECT_GT(cold / warm, 1.2);
  EXPECT_GT(dirty / cold, 1.1);
  EXPECT_GT(dirty / produced, 1.1) << "the input is in cache";
  EXPECT_GT(produced / warm, 1.05) << "the output is not";
}

TEST(VirtualQueue, ACallableHasNoInputsToProduce) {
  struct Nothing final : Workload {
    void run(NativeQueue) override {}
  } nothing;
  Bench bench;
  EXPECT_THROW(bench.queue->set_cache(CacheState::produced, nothing), UsageError);
  bench.queue->wait();
}

TEST(VirtualQueue, ACopyFromPageableMemoryOpensTheGateAndWaits) {
  Bench bench;
  const auto copy = bench.prepare("copy:bytes=10000000,kind=h2d,memory=pageable");
  bench.queue->hold();
  bench.queue->launch(*copy);
  ASSERT_EQ(bench.ran.size(), 1u);
  EXPECT_GE(bench.device->host_time(), bench.ran[0].end);
  EXPECT_LT(bench.device->host_time(), seconds(1)) << "the gate's time limit is 10 s";
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
