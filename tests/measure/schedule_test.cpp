#include "measure/schedule.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Works for some time in each of its turns, until it had enough of them.
class Worker final : public BlockVisitor {
 public:
  Worker(Device& device, std::size_t turns, Nanoseconds busy) : device_(device), turns_(turns), busy_(busy) {}

  std::size_t visits() const override { return seen.size(); }
  bool needs_more() override { return seen.size() < turns_; }
  void visit(const Visit& visit) override {
    if (visit.rests) device_.idle(visit.idle);
    device_.idle(busy_);
    seen.push_back(visit);
  }

  std::vector<Visit> seen;

 private:
  Device& device_;
  std::size_t turns_;
  Nanoseconds busy_;
};

class ScheduleTest : public testing::Test {
 protected:
  void add(std::size_t turns, Nanoseconds busy) {
    visitors_.push_back(&workers_.emplace_back(device_, turns, busy));
  }
  /// How many came in each block.
  std::vector<int> run(IdleSharing sharing) {
    Schedule schedule(device_, decisions_, options_, sharing);
    while (schedule.run_block(visitors_)) {
    }
    std::vector<int> blocks;
    for (const Worker& worker : workers_) {
      for (const Visit& visit : worker.seen) {
        blocks.resize(std::max(blocks.size(), static_cast<std::size_t>(visit.block) + 1));
        ++blocks[static_cast<std::size_t>(visit.block)];
      }
    }
    return blocks;
  }

  ScriptedDevice device_;
  LocalDecisions decisions_;
  MeasureOptions options_;
  std::deque<Worker> workers_;
  std::vector<BlockVisitor*> visitors_;
};

TEST_F(ScheduleTest, EachComesBehindAnIdleOfItsOwnWhereNoneIsShared) {
  add(3, milliseconds(1));
  add(2, milliseconds(1));
  EXPECT_THAT(run(IdleSharing::none), ElementsAre(1, 1, 1, 1, 1));
  std::set<double> idles;
  for (const Worker& worker : workers_) {
    for (const Visit& visit : worker.seen) {
      EXPECT_TRUE(visit.rests);
      EXPECT_GE(visit.idle, options_.shortest_idle);
      EXPECT_LE(visit.idle, options_.longest_idle);
      idles.insert(visit.idle.value());
    }
  }
  EXPECT_THAT(idles, SizeIs(5));
}

// On average the device rests for 40 ms.
TEST_F(ScheduleTest, AsManyShareAnIdleAsLastNoLongerThanItsMean) {
  for (int i = 0; i < 4; ++i) add(1, milliseconds(15));
  EXPECT_THAT(run(IdleSharing::by_time), ElementsAre(3, 1));
  int resting = 0;
  for (const Worker& worker : workers_) resting += worker.seen[0].rests ? 1 : 0;
  EXPECT_EQ(resting, 2);
}

TEST_F(ScheduleTest, EachIsToldHowLongOthersWereBusySinceTheIdle) {
  for (int i = 0; i < 2; ++i) add(5, milliseconds(10));
  add(5, milliseconds(50));
  run(IdleSharing::by_time);
  std::set<double> busy;
  for (const Worker& worker : workers_) {
    for (const Visit& visit : worker.seen) {
      EXPECT_EQ(visit.rests, visit.busy == Nanoseconds(0));
      EXPECT_LE(visit.busy, milliseconds(40));
      busy.insert(visit.busy.value());
    }
  }
  EXPECT_THAT(busy, ElementsAre(0.0, 10e6, 20e6));
}

TEST_F(ScheduleTest, TheLeastVisitedComeFirstInAnOrderDrawnAnew) {
  for (int i = 0; i < 4; ++i) add(20, milliseconds(50));  // one in each block
  Schedule schedule(device_, decisions_, options_, IdleSharing::by_time);
  std::vector<std::vector<std::size_t>> orders(20);
  for (auto& order : orders) {
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<std::size_t> before;
      for (const Worker& worker : workers_) before.push_back(worker.visits());
      ASSERT_TRUE(schedule.run_block(visitors_));
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].visits() > before[i]) order.push_back(i);
      }
    }
    EXPECT_THAT(std::set(order.begin(), order.end()), SizeIs(4));  // each once before any twice
  }
  EXPECT_GT(std::set(orders.begin(), orders.end()).size(), 5u);
}

TEST_F(ScheduleTest, AnInterruptionLeavesTheOthersAsTheyAre) {
  int asked = 0;
  options_.interrupted = [&] { return ++asked > 3; };
  for (int i = 0; i < 2; ++i) add(100, milliseconds(50));
  run(IdleSharing::by_time);
  EXPECT_EQ(workers_[0].visits() + workers_[1].visits(), 3u);
  EXPECT_THAT(visitors_, SizeIs(2));  // both still need more
}

TEST_F(ScheduleTest, OneSeedIsOneSchedule) {
  const auto idles_of = [&](std::uint64_t seed) {
    options_.seed = seed;
    workers_.clear();
    visitors_.clear();
    add(5, milliseconds(1));
    run(IdleSharing::none);
    std::vector<double> idles;
    for (const Visit& visit : workers_[0].seen) idles.push_back(visit.idle.value());
    return idles;
  };
  const std::vector<double> first = idles_of(1);
  EXPECT_EQ(idles_of(1), first);
  EXPECT_NE(idles_of(2), first);
}

}  // namespace
}  // namespace jitterscope::scripted
