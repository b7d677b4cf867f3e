#include <gtest/gtest.h>

#include <stdexcept>

#include "device/virtual/gpus.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

physics::Parameters with(physics::Mechanism mechanism) {
  physics::Parameters gpu = plain_gpu();
  gpu.off[static_cast<std::size_t>(mechanism)] = false;
  return gpu;
}

std::unique_ptr<Recording> record(Bench& bench, PreparedOperation& operation, int launches) {
  return bench.queue->record([&](Queue& queue) {
    for (int i = 0; i < launches; ++i) queue.launch(operation);
  });
}

TEST(VirtualRecording, RunsNothingWhileItIsMade) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=1000");
  const Nanoseconds start = bench.device->host_time();
  const auto recording = record(bench, *spin, 100);
  bench.queue->wait();
  EXPECT_TRUE(bench.ran.empty());
  EXPECT_LT(bench.device->host_time() - start, microseconds(10));
}

TEST(VirtualRecording, ReplaysItsNodesWithAGapOfItsOwn) {
  Bench bench(with(physics::Mechanism::instrument));
  const auto spin = bench.prepare("spin:ns=1000");
  const auto recording = record(bench, *spin, 4);
  bench.queue->replay(*recording);
  bench.queue->replay(*recording);
  bench.queue->wait();
  ASSERT_EQ(bench.ran.size(), 8u);
  const auto gap = [&](std::size_t i) { return (bench.ran[i + 1].start - bench.ran[i].end).value(); };
  EXPECT_NEAR(gap(0), 600, 1) << "0.5 us, and 0.1 us for a node";
  EXPECT_NEAR(gap(2), 600, 1);
  EXPECT_NEAR(gap(3), 1100, 1) << "between two replays";
}

TEST(VirtualRecording, HoldsCacheStates) {
  Bench bench;
  const auto copy = bench.prepare("copy:bytes=8Mi");
  const auto recording = bench.queue->record([&](Queue& queue) {
    queue.launch(*copy);
    queue.launch(*copy);
    queue.set_cache(CacheState::cold, *copy);
    queue.launch(*copy);
  });
  bench.queue->replay(*recording);
  bench.queue->wait();
  ASSERT_EQ(bench.ran.size(), 3u);
  EXPECT_GT(bench.ran[2].time() / bench.ran[1].time(), 1.2);
}

TEST(VirtualRecording, TheFirstReplayAfterAnIdleStartsLate) {
  Bench bench(with(physics::Mechanism::one_time_work));
  const auto spin = bench.prepare("spin:ns=1000");
  const auto recording = record(bench, *spin, 1);
  const auto late = [&] {
    const Mark from = bench.queue->mark();
    bench.queue->replay(*recording);
    const Mark to = bench.queue->mark();
    bench.queue->wait();
    return bench.queue->elapsed(from, to) > microseconds(20);
  };
  EXPECT_TRUE(late());
  EXPECT_FALSE(late());
  bench.device->idle(milliseconds(20));
  EXPECT_TRUE(late());
}

TEST(VirtualRecording, TakesOneEntryOfTheQueue) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  const auto recording = record(bench, *spin, 2000);
  bench.queue->hold();
  bench.queue->replay(*recording);
  bench.queue->wait();
  EXPECT_EQ(bench.ran.size(), 2000u);
}

TEST(VirtualRecording, RefusesWhatAGraphCannotHold) {
  Bench bench;
  EXPECT_THROW(bench.queue->record([](Queue& queue) { queue.mark(); }), std::logic_error);
  EXPECT_THROW(bench.queue->record([](Queue& queue) { queue.hold(); }), std::logic_error);
  EXPECT_THROW(bench.queue->record([](Queue& queue) { queue.wait(); }), std::logic_error);
  bench.queue->hold();
  EXPECT_THROW(bench.queue->record([](Queue&) {}), std::logic_error);
  bench.queue->wait();
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
