#include "device/cpu/cpu_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

using ::testing::ElementsAre;
using testing::IsEmpty;

class Noted final : public Workload {
 public:
  Noted(std::vector<int>& ran, int name) : ran_(ran), name_(name) {}
  void run(NativeQueue queue) override {
    EXPECT_EQ(queue, nullptr);
    if (name_ < 0) throw FailedError("it broke");
    ran_.push_back(name_);
  }

 private:
  std::vector<int>& ran_;
  int name_;
};

class CpuQueueTest : public ::testing::Test {
 protected:
  std::vector<int> ran_;
  Noted first_{ran_, 1}, second_{ran_, 2}, broken_{ran_, -1};
  CpuQueue queue_{Bytes(1 << 20)};
};

TEST_F(CpuQueueTest, RunsAtOnceWhileTheGateIsOpen) {
  queue_.launch(first_);
  EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(CpuQueueTest, HoldsWorkBehindTheGateAndKeepsItsOrder) {
  queue_.hold();
  queue_.launch(second_);
  queue_.launch(first_);
  EXPECT_THAT(ran_, IsEmpty());
  queue_.release();
  queue_.launch(second_);
  EXPECT_THAT(ran_, ElementsAre(2, 1, 2));
  queue_.wait();
  EXPECT_THAT(ran_, ElementsAre(2, 1, 2));
}

// Takes this much time of a core, however long others have it.
class Working final : public Workload {
 public:
  explicit Working(Nanoseconds time) : time_(time) {}
  void run(NativeQueue) override {
    const Nanoseconds end = ThreadTimes::read().worked + time_;
    while (ThreadTimes::read().worked < end) {
    }
  }

 private:
  Nanoseconds time_;
};

class Sleeping final : public Workload {
 public:
  void run(NativeQueue) override { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }
};

TEST_F(CpuQueueTest, TellsTheTimeThatOthersHadTheCoreFromWork) {
  if (!counts_work_and_waits()) GTEST_SKIP() << "this system does not count a thread's work and waits";
  // A busy thread on the same core has it half of the time.
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
    }
  });
  queue_.mark();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Mark begin = queue_.mark();
  Working work(milliseconds(40));
  queue_.launch(work);
  const Mark end = queue_.mark();
  is_over = true;
  other.join();
  sched_setaffinity(0, sizeof own, &own);
  const auto taken = queue_.taken_by_others(begin, end);
  ASSERT_TRUE(taken);
  EXPECT_GT(*taken, milliseconds(2));
  EXPECT_NEAR((queue_.elapsed(begin, end) - *taken) / milliseconds(40), 1.0, 0.01);
}

TEST_F(CpuQueueTest, WhatTheWorkWaitsForIsItsOwnTime) {
  queue_.mark();
  Working before(milliseconds(1));
  queue_.launch(before);
  const Mark begin = queue_.mark();
  Sleeping sleeping;
  queue_.launch(sleeping);
  const Mark end = queue_.mark();
  EXPECT_FALSE(queue_.taken_by_others(begin, end));
  EXPECT_GE(queue_.elapsed(begin, end), milliseconds(2));
}

class InRows final : public Workload {
 public:
  void run(NativeQueue) override { rows.push_back(1); }
  void run_in_a_row(NativeQueue, std::int64_t launches) override { rows.push_back(launches); }
  std::vector<std::int64_t> rows;
};

TEST_F(CpuQueueTest, RowsOfLaunchesAreOneCall) {
  InRows work;
  queue_.launch_in_a_row(work, 5);
  queue_.hold();
  queue_.launch_in_a_row(work, 3);
  queue_.launch(work);
  queue_.release();
  queue_.wait();
  const auto recording = queue_.record([&](Queue& queue) { queue.launch_in_a_row(work, 7); });
  queue_.replay(*recording);
  EXPECT_THAT(work.rows, ElementsAre(5, 3, 1, 7));
}

TEST_F(CpuQueueTest, AClosedGateHoldsNoOtherQueue) {
  const auto device = open_cpu_device();
  const auto one = device->make_queue();
  const auto other = device->adopt_queue(nullptr);
  one->hold();
  one->launch(first_);
  const Mark before = other->mark();
  other->launch(second_);
  const Mark behind = other->mark();
  other->wait();
  EXPECT_THAT(ran_, ElementsAre(2));
  EXPECT_GE(other->elapsed(before, behind), Nanoseconds(0));
  one->release();
  one->wait();
  EXPECT_THAT(ran_, ElementsAre(2, 1));
}

TEST_F(CpuQueueTest, ACpuHasNoStreams) {
  int stream = 0;
  EXPECT_THROW(open_cpu_device()->adopt_queue(&stream), UsageError);
}

TEST_F(CpuQueueTest, WhatFailsBehindTheGateIsThrownByWait) {
  queue_.hold();
  queue_.launch(broken_);
  queue_.launch(first_);
  queue_.release();
  EXPECT_THROW(queue_.wait(), FailedError);
  EXPECT_NO_THROW(queue_.wait());
  EXPECT_THAT(ran_, IsEmpty()) << "what was queued behind the failure is dropped";
  queue_.launch(second_);
  EXPECT_THAT(ran_, ElementsAre(2));
}

TEST_F(CpuQueueTest, WaitingBehindAClosedGateFailsAndOpensIt) {
  queue_.hold();
  queue_.launch(first_);
  EXPECT_THROW(queue_.wait(), FailedError);
  EXPECT_THAT(ran_, ElementsAre(1));
  EXPECT_NO_THROW(queue_.wait());
}

TEST_F(CpuQueueTest, MarksMeasureWhatLiesBetween) {
  const auto device = open_cpu_device();
  const auto spin = device->prepare(Operation(Spin{.amount = 300'000}), {});
  queue_.hold();
  const Mark begin = queue_.mark();
  queue_.launch(*spin);
  const Mark end = queue_.mark();
  EXPECT_THROW(queue_.elapsed(begin, end), FailedError) << "not passed yet";
  queue_.release();
  queue_.wait_for(end);
  EXPECT_GE(queue_.elapsed(begin, end), Nanoseconds(300'000));
  EXPECT_LE(queue_.elapsed(end, begin), Nanoseconds(-300'000));
}

TEST_F(CpuQueueTest, SlotsAreReusedAfterARing) {
  const Mark first = queue_.mark();
  for (std::uint32_t i = 1; i < Queue::kRingSize; ++i) queue_.mark();
  EXPECT_EQ(queue_.mark().slot, first.slot);
}

TEST_F(CpuQueueTest, ARecordingRunsOnlyWhenReplayed) {
  const auto recording = queue_.record([&](Queue& queue) {
    queue.launch(first_);
    queue.set_cache(CacheState::warm, first_);
    queue.launch(second_);
  });
  EXPECT_THAT(ran_, IsEmpty());
  queue_.hold();
  queue_.replay(*recording);
  queue_.launch(second_);
  EXPECT_THAT(ran_, IsEmpty());
  queue_.release();
  queue_.wait();
  EXPECT_THAT(ran_, ElementsAre(1, 2, 2));
  queue_.replay(*recording);
  EXPECT_THAT(ran_, ElementsAre(1, 2, 2, 1, 2));
}

TEST_F(CpuQueueTest, ARecordingThatFailsLeavesTheQueueUsable) {
  EXPECT_THROW(queue_.record([&](Queue& queue) { queue.wait(); }), UsageError);
  EXPECT_THROW(queue_.record([&](Queue& queue) { queue.hold(); }), UsageError);
  queue_.launch(first_);
  EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(CpuQueueTest, ForeignRecordingsAreRefused) {
  Recording foreign;
  EXPECT_THROW(queue_.replay(foreign), UsageError);
}

TEST_F(CpuQueueTest, ProducedNeedsAWorkloadThatProduces) {
  EXPECT_THROW(queue_.set_cache(CacheState::produced, first_), UsageError);
  queue_.hold();
  queue_.set_cache(CacheState::produced, first_);
  queue_.release();
  EXPECT_THROW(queue_.wait(), UsageError);
}

TEST_F(CpuQueueTest, ClockBetweenStampsIsAClock) {
  const ClockStamp begin = queue_.stamp_clock();
  const auto device = open_cpu_device();
  const auto spin = device->prepare(Operation(Spin{.amount = 2'000'000}), {});
  queue_.launch(*spin);
  const ClockStamp end = queue_.stamp_clock();
  const std::optional<ClockReading> clock = queue_.clock_between(begin, end);
  ASSERT_TRUE(clock);
  // No core that runs this is slower than 0.2 GHz or faster than 10.
  EXPECT_GT(clock->frequency, Hertz(0.2e9));
  EXPECT_LT(clock->frequency, Hertz(10e9));
  EXPECT_GE(clock->window, Nanoseconds(2'000'000));
}

}  // namespace
}  // namespace jitterscope::cpu
