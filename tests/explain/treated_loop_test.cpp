// What a treatment does to a loop, on simulated GPUs.
#include "explain/treated_loop.hpp"

#include <gtest/gtest.h>

#include "device/virtual/virtual_device.hpp"
#include "explain/conditioning.hpp"
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
       {Treatment{}, Treatment{.idle = milliseconds(100)}, Treatment{.load = milliseconds(50)}}) {
    bench_.rehearse(treatment);
    const Nanoseconds start = device_->host_time();
    bench_.run(treatment);
    EXPECT_NEAR((device_->host_time() - start) / bench_.duration(treatment), 1.0, 0.5);
  }
}

TEST_F(TreatedLoops, ALoadIsForgottenOnce) {
  EXPECT_FALSE(bench_.take_heated());
  bench_.run({.load = milliseconds(20)});
  EXPECT_TRUE(bench_.take_heated());
  EXPECT_FALSE(bench_.take_heated());
}

}  // namespace
}  // namespace jitterscope::explain
