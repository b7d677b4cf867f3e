// What a treatment does to a loop, on simulated GPUs.
#include "explain/treated_loop.hpp"

#include <gtest/gtest.h>

#include "device/virtual/virtual_device.hpp"
#include "explain/experiments.hpp"
#include "explain/factors.hpp"
#include "explain/treatment.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

class TreatedLoops : public testing::Test {
 protected:
  explicit TreatedLoops(const std::string& preset = "quiet")
      : device_(virtual_gpu::make_virtual_device(physics::find_preset(preset), 1)),
        session_(*device_),
        bench_(session_, Operation(Elementwise{.kind = ElementwiseKind::add, .count = 1 << 20}), 1) {}

  Nanoseconds time(const Treatment& treatment) {
    condition(bench_);
    bench_.rehearse(treatment);
    return bench_.run(treatment).time;
  }

  std::unique_ptr<virtual_gpu::VirtualDevice> device_;
  Session session_;
  TreatedLoop bench_;
};

TEST_F(TreatedLoops, TheSameTreatmentReadsTheSame) {
  const Nanoseconds plain = time({}), again = time({});
  EXPECT_NEAR(again / plain, 1.0, 0.01);
}

TEST_F(TreatedLoops, ADelayOfTheHostIsAddedWhereTheQueueIsEmpty) {
  const Nanoseconds plain = time({}), late = time({.host_delay = microseconds(100)});
  EXPECT_GT(late - plain, microseconds(80));
  const Nanoseconds gated = time({.queue = QueueMode::saturated, .host_delay = microseconds(100)});
  EXPECT_LT(gated - plain, microseconds(1));
}

TEST_F(TreatedLoops, ColdOperandsTakeLonger) {
  EXPECT_GT(time({.cache = CacheState::cold}), time({}) * 1.05);
  EXPECT_GT(time({.traffic = Bytes(120 << 20)}), time({}) * 1.02);
}

TEST_F(TreatedLoops, RunsAsManyLaunchesAsAreAskedFor) {
  std::int64_t launches = 0;
  Treatment treatment{.launches = 7};
  bench_.run(treatment);
  device_->on_launch = [&](const physics::Execution&) { ++launches; };
  bench_.run(treatment);
  device_->on_launch = nullptr;
  EXPECT_EQ(launches, 7 + 2);  // two condition it
}

TEST_F(TreatedLoops, ARecordingHasNoConstantOfEvents) {
  EXPECT_LT(time({.queue = QueueMode::graph}), time({}));
  EXPECT_LT(time({.is_own_reading = true}), time({}));
}

TEST_F(TreatedLoops, TakesAboutAsLongAsItSays) {
  for (const Treatment& treatment :
       {Treatment{}, Treatment{.idle = milliseconds(100)}, Treatment{.load = milliseconds(50)},
        Treatment{.load = milliseconds(50), .load_duty = 0.25}}) {
    bench_.rehearse(treatment);
    const Nanoseconds start = device_->host_time();
    bench_.run(treatment);
    EXPECT_NEAR((device_->host_time() - start) / bench_.duration(treatment), 1.0, 0.5);
  }
}

TEST(TreatedLoopOnACpu, KnowsWhatAnEvictionBeforeEachLaunchTakes) {
  const std::unique_ptr<Device> device = open_device("cpu");
  Session session(*device);
  TreatedLoop bench(session, Operation(Elementwise{.kind = ElementwiseKind::add, .count = 1000}), 1);
  Treatment cold;
  cold.cache = CacheState::cold;
  EXPECT_EQ(bench.duration(cold), bench.duration({}));
  const Nanoseconds plain = bench.duration({});
  bench.time_evictions();
  // Memory of more than all caches is written before each of dozens of launches.
  EXPECT_GT(bench.duration(cold), plain * 2.0);
  EXPECT_EQ(bench.duration({}), plain);
}

TEST_F(TreatedLoops, AnotherQueuesWorkComesInBetween) {
  const Nanoseconds plain = time({});
  const auto beside = [&](CompanionWork work, double duty) {
    return time({.companion = Companion{work, duty}});
  };
  EXPECT_GT(beside(CompanionWork::kernels, 1.0), plain * 2.0);
  EXPECT_GT(beside(CompanionWork::memory, 1.0), plain * 2.0);
  EXPECT_NEAR(time({}) / plain, 1.0, 0.01);  // it ends with the loop
}

// Notes what it is told; is lost after so many beginnings.
struct NotedNeighbour final : Neighbour {
  NotedNeighbour(std::vector<std::string>& log, int beginnings) : told(log), left(beginnings) {
    told.emplace_back("start");
  }
  ~NotedNeighbour() override { told.emplace_back("end"); }
  void begin(const Companion& work) override {
    if (left-- <= 0) throw NeighbourLostError("gone");
    told.push_back(std::string("begin ") + std::string(to_string(work.work)));
  }
  void rest() override { told.emplace_back("rest"); }

  std::vector<std::string>& told;
  int left;
};

TEST_F(TreatedLoops, AnotherProcessWorksDuringTheLoopAlone) {
  std::vector<std::string> told;
  const Treatment beside{.neighbour = Companion{CompanionWork::memory, 0.5}};
  {
    TreatedLoop loop(session_, bench_.subject(), 1,
                     [&] { return std::make_unique<NotedNeighbour>(told, 2); });
    loop.run({});
    EXPECT_TRUE(told.empty());  // it is started when it is needed
    loop.run(beside);
    loop.run({});
    Treatment recorded = beside;
    recorded.queue = QueueMode::graph;
    loop.run(recorded);
    EXPECT_THROW(loop.run(beside), NeighbourLostError);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"start", "begin memory", "rest", "begin memory", "rest", "end"}));
  EXPECT_THROW(bench_.run(beside), NeighbourLostError);  // whoever made it cannot start one
}

// What was read before it was lost counts, and the plain loops and other factors go on.
TEST_F(TreatedLoops, ANeighbourThatIsLostCostsItselfOnly) {
  std::vector<std::string> told;
  TreatedLoop loop(session_, bench_.subject(), 1, [&] { return std::make_unique<NotedNeighbour>(told, 5); });
  const auto one = [](const char* id, Treatment treatment) {
    return Factor{.id = id, .doses = {{"on", [=](Treatment& given) { given = treatment; }}}};
  };
  const Factor neighbour = one("neighbour", {.neighbour = Companion{CompanionWork::kernels, 1.0}}),
               cold = one("cold", {.cache = CacheState::cold});
  Random random(1);
  const PairedEffects found = confirm(loop, {&neighbour, &cold}, {}, milliseconds(1), random,
                                      {[] { return false; }, [](const std::string&, double) {}});
  EXPECT_EQ(found.blocks, kFewestBlocks);
  ASSERT_EQ(found.doses.size(), 2u);
  EXPECT_EQ(found.doses[0].log_times.size(), 4u);  // one was its rehearsal
  EXPECT_EQ(found.doses[1].log_times.size(), 6u);
  ASSERT_EQ(found.failures.size(), 1u);
  EXPECT_EQ(found.failures[0].reason, "gone");
}

TEST_F(TreatedLoops, PiecesOfTheHeapChangeNothingOnASimulatedGpu) {
  EXPECT_NEAR(time({.heap_piece = 1}) / time({}), 1.0, 0.01);
}

TEST_F(TreatedLoops, WaitingBehindEachEmptiesTheQueueHoweverItIsDone) {
  const Nanoseconds plain = time({});
  EXPECT_GT(time({.wait = WaitBehindEach::usual}), plain);
  EXPECT_GT(time({.wait = WaitBehindEach::polling}), plain);
}

TEST_F(TreatedLoops, ProducedInputsAreNearAndOthersAreNot) {
  const Nanoseconds produced = time({.cache = CacheState::produced});
  EXPECT_GT(produced, time({}));
  EXPECT_LT(produced, time({.cache = CacheState::dirty}));
}

TEST(SharedCore, IsGivenBack) {
  cpu_set_t before{}, within{}, after{};
  sched_getaffinity(0, sizeof(before), &before);
  {
    const PinnedThread pinned;
    const BusyNeighbour neighbour(0.5);
    sched_getaffinity(0, sizeof(within), &within);
  }
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_EQ(CPU_COUNT(&within), 1);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

class LoopsBelowACap : public TreatedLoops {
 protected:
  LoopsBelowACap() : TreatedLoops("h200") {}
};

TEST_F(LoopsBelowACap, ALoadThatRestsThreeQuartersOfTheTimeHoldsTheClockLess) {
  const auto clock = [&](double duty) {
    const Treatment treatment{.idle = {}, .load = milliseconds(300), .load_duty = duty};
    condition(bench_);
    bench_.rehearse(treatment);
    return *bench_.run(treatment).clock;
  };
  EXPECT_GT(clock(0.25), clock(1.0) * 1.03);
}

TEST_F(TreatedLoops, ALoadIsForgottenOnce) {
  EXPECT_FALSE(bench_.take_heated());
  bench_.run({.load = milliseconds(20)});
  EXPECT_TRUE(bench_.take_heated());
  EXPECT_FALSE(bench_.take_heated());
}

}  // namespace
}  // namespace jitterscope::explain
