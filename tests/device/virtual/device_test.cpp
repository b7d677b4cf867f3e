#include <gmock/gmock.h>

#include "device/virtual/gpus.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measure.hpp"
#include "measure/session.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Call>
std::string usage_message(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(VirtualDevice, DescribesItselfAsSimulated) {
  const auto device = make_virtual_device(plain_gpu(), 7, "virtual:plain");
  const DeviceDescription description = device->describe();
  EXPECT_EQ(description.id, "virtual:plain");
  EXPECT_EQ(description.name, "plain (simulated)");
  EXPECT_EQ(description.processors, 100);
  EXPECT_EQ(description.last_level_cache, Bytes(32 << 20));
  EXPECT_EQ(description.maximum_clock, megahertz(1000));
  EXPECT_FALSE(description.power_limit) << "a cap of zero is none";
  EXPECT_THAT(description.properties, testing::Contains(Property{"simulated", "yes"}));
  EXPECT_THAT(description.properties, testing::Contains(Property{"seed", "7"}));
}

TEST(VirtualDevice, CountsItsMemory) {
  Bench bench;
  const Bytes before = bench.device->describe().memory_free;
  {
    const auto copy = bench.prepare("copy:bytes=64Mi");
    EXPECT_EQ(before - bench.device->describe().memory_free, Bytes(128 << 20));
  }
  EXPECT_EQ(bench.device->describe().memory_free, before);
}

Nanoseconds time_in_placement(std::uint64_t number) {
  physics::Parameters parameters = plain_gpu();
  parameters.placement.sd = 0.02;
  parameters.off[static_cast<std::size_t>(physics::Mechanism::placement)] = false;
  Bench bench(parameters);
  const InputData data{.placement = number};
  return bench.time_of(*bench.device->prepare(Operation::parse("copy:bytes=64Mi"), data));
}

TEST(VirtualDevice, TakesAnotherTimeInAnotherPlacement) {
  EXPECT_EQ(time_in_placement(0), time_in_placement(0));
  EXPECT_EQ(time_in_placement(2), time_in_placement(2));
  EXPECT_NE(time_in_placement(0), time_in_placement(1));
  EXPECT_NE(time_in_placement(1), time_in_placement(2));
}

TEST(VirtualDevice, RefusesWhatDoesNotFitWithBothNumbers) {
  Bench bench;
  EXPECT_THAT(usage_message([&] { bench.prepare("copy:bytes=3Gi"); }),
              HasSubstr("needs 6 GiB of memory, and plain has 3.94 GiB free; free some"));
}

TEST(VirtualDevice, RefusesADataTypeThatItLacks) {
  Bench bench;
  EXPECT_THAT(usage_message([&] { bench.prepare("matmul:m=64,n=64,k=64,dtype=tf32"); }),
              HasSubstr("plain has no tf32 for matmul; write dtype= with one of f64, f32, f16, bf16"));
}

TEST(VirtualDevice, PreparingAndFirstCallsCostHostTime) {
  physics::Parameters gpu = plain_gpu();
  gpu.off[static_cast<std::size_t>(physics::Mechanism::one_time_work)] = false;
  Bench bench(gpu);
  const auto time_of = [&](const auto& call) {
    const Nanoseconds start = bench.device->host_time();
    call();
    return bench.device->host_time() - start;
  };
  std::unique_ptr<PreparedOperation> first, second;
  EXPECT_EQ(time_of([&] { first = bench.prepare("add:count=100"); }), microseconds(30)) << "three operands";
  second = bench.prepare("add:count=200");
  EXPECT_GT(time_of([&] { bench.queue->launch(*first); }), milliseconds(2));
  EXPECT_LT(time_of([&] { bench.queue->launch(*second); }), milliseconds(1)) << "its code is loaded";
}

TEST(VirtualDevice, WithholdsSensors) {
  physics::Parameters gpu = plain_gpu();
  Bench open(gpu);
  open.device->idle(seconds(1));  // power is a mean over time
  EXPECT_TRUE(open.device->read_sensors().power);
  EXPECT_TRUE(open.device->read_sensors().sm_clock);
  gpu.sensors.power = gpu.sensors.clock = false;
  Bench closed(gpu);
  EXPECT_FALSE(closed.device->read_sensors().power);
  EXPECT_FALSE(closed.device->read_sensors().sm_clock);
  EXPECT_TRUE(closed.device->read_sensors().temperature);
  std::string sentences;
  for (const Check& check : closed.device->check()) sentences += check.sentence + "\n";
  EXPECT_THAT(sentences, AllOf(HasSubstr("is simulated"), HasSubstr("this preset withholds: clock, power\n"),
                               HasSubstr("lets nobody lock clocks")));
}

TEST(VirtualDevice, LocksClocksWhereItsPresetAllows) {
  Bench bench;
  EXPECT_THAT(usage_message([&] { bench.device->lock_clocks("max"); }), HasSubstr("may_lock_clocks"));
  physics::Parameters gpu = plain_gpu();
  gpu.sensors.may_lock_clocks = true;
  gpu.governor.idle_clock = megahertz(300);
  Bench allowed(gpu);
  EXPECT_THAT(usage_message([&] { allowed.device->lock_clocks("755"); }), HasSubstr("the nearest is 7"));
  EXPECT_THAT(usage_message([&] { allowed.device->lock_clocks("base"); }), HasSubstr("give MHz"));
  const auto spin = allowed.prepare("spin:cycles=1000000");
  {
    const auto lock = allowed.device->lock_clocks("500");
    EXPECT_EQ(lock->frequency(), megahertz(500));
    allowed.queue->launch(*spin);
    allowed.queue->wait();
  }
  allowed.queue->launch(*spin);
  allowed.queue->wait();
  EXPECT_NEAR(allowed.ran[0].time().value(), 2e6, 2e4);
  EXPECT_NEAR(allowed.ran[1].time().value(), 1e6, 1e4);
}

TEST(VirtualDevice, ListsAnotherProcessOnlyWhileItIsThere) {
  physics::Parameters gpu = plain_gpu();
  EXPECT_THAT(make_virtual_device(gpu, 1)->other_processes().value(), testing::IsEmpty());
  gpu.off[static_cast<std::size_t>(physics::Mechanism::contention)] = false;
  gpu.contention.mean_on = seconds(1);
  gpu.contention.mean_off = seconds(1);
  gpu.contention.bandwidth_loss = 0.3;
  const auto seen = [](const physics::Parameters& parameters) {
    const auto device = make_virtual_device(parameters, 1);
    int count = 0;
    for (int i = 0; i < 100; ++i) {
      device->idle(seconds(0.5));
      count += device->other_processes()->empty() ? 0 : 1;
    }
    return count;
  };
  EXPECT_THAT(seen(gpu), AllOf(testing::Gt(20), testing::Lt(80)));
  gpu.contention.visible = false;
  EXPECT_EQ(seen(gpu), 0);
}

std::vector<double> round_times(std::uint64_t seed) {
  physics::Parameters gpu = plain_gpu();
  gpu.off.fill(false);
  gpu.noise.sd = 0.01;
  gpu.launch.host_sigma = 0.3;
  const auto device = make_virtual_device(gpu, seed);
  Session session(*device);
  MeasureOptions options;
  options.loads = {Load::burst};
  const auto prepared = device->prepare(Operation::parse("add:count=1Mi"), InputData());
  std::vector<double> times;
  for (const Measurement& measurement : session.measure(*prepared, "add", options).measurements) {
    for (const Round& round : measurement.rounds) times.push_back(round.time().value());
  }
  return times;
}

TEST(VirtualDevice, IsTheSameForTheSameSeed) {
  const std::vector<double> times = round_times(3);
  EXPECT_GT(times.size(), 10u);
  EXPECT_EQ(round_times(3), times);
  EXPECT_NE(round_times(4), times);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
