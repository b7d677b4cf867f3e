#include "physics/kernel_time.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

TEST(KernelTime, ComputeAndMemoryOverlapByTheExponent) {
  Load load;
  load.compute = Cycles(3000);
  load.memory = microseconds(4);
  EXPECT_NEAR(shared_time(load, megahertz(1000)).value(), 7000, 1e-6);
  load.overlap = 2;
  EXPECT_NEAR(shared_time(load, megahertz(1000)).value(), 5000, 1e-6);
  EXPECT_NEAR(shared_time(load, megahertz(500)).value(), std::hypot(6000, 4000), 1e-6);
  load.overlap = 100;
  EXPECT_NEAR(shared_time(load, megahertz(1000)).value(), 4000, 1e-6);
}

TEST(KernelTime, MemoryTimeHasItsParts) {
  Memory memory = bare().memory;  // DRAM 1 byte/ps, L2 4
  memory.miss_bandwidth = 2e12;
  memory.write_back_bandwidth = 8e12;
  memory.l2_latency = Nanoseconds(300);
  memory.dram_latency = Nanoseconds(500);
  const Bytes mb(1'000'000), none(0);
  EXPECT_NEAR(memory_time(memory, {none, none, none}, false).value(), 0, 1e-9);
  EXPECT_NEAR(memory_time(memory, {4 * mb, none, none}, false).value(), 300 + 1000, 1e-6);
  EXPECT_NEAR(memory_time(memory, {4 * mb, mb, none}, false).value(), 800 + 1000 + 500, 1e-6);
  // 1 MB read and 1 MB written by a DRAM of 1 MB per µs: the bus is the limit.
  EXPECT_NEAR(memory_time(memory, {4 * mb, mb, mb}, false).value(), 800 + 2000, 1e-6);
  memory.far_penalty = 0.5;
  EXPECT_NEAR(memory_time(memory, {4 * mb, none, none}, false).value(), 300 + 1250, 1e-6);
  memory.refresh_tax = 0.2;
  EXPECT_NEAR(memory_time(memory, {4 * mb, mb, mb}, true).value(), 800 + 2500, 1e-6);
}

TEST(KernelTime, AForecastIsWhatThenHappens) {
  Machine machine(bare().without(Mechanism::idle_ramp), 1);
  KernelWork work = cycles_work(1e5);
  work.fixed = Nanoseconds(500);
  work.accesses = {{machine.allocate(Bytes(1 << 20)), Bytes(1 << 20), false}};
  const std::vector<Forecast> forecast = machine.forecast({work, work});
  const Nanoseconds cold = machine.run(work, Nanoseconds(0)).time(),
                    warm = machine.run(work, Nanoseconds(0)).time();
  EXPECT_NEAR(forecast[0].time.value(), cold.value(), 1e-3);
  EXPECT_NEAR(forecast[1].time.value(), warm.value(), 1e-3);
  EXPECT_GT(forecast[0].transfer, forecast[1].transfer) << "the first one brings it into the cache";
  EXPECT_LT(forecast[0].transfer, forecast[0].time);
}

TEST(KernelTime, WhatIsStretchedTakesLongerAndDoesNoMore) {
  Machine machine(bare().without(Mechanism::idle_ramp), 1);
  KernelWork work = cycles_work(1e6);
  work.activity = 1.0;
  const auto energy_of = [&] {
    const Joules before = *machine.read_sensors(machine.free_at()).energy;
    const Nanoseconds time = machine.run(work, machine.free_at()).time();
    machine.rest_until(machine.free_at() + milliseconds(10) - time);
    return (*machine.read_sensors(machine.free_at()).energy - before).value();
  };
  const double usual = energy_of();
  work.stretch = 2.0;
  EXPECT_NEAR(machine.run(work, machine.free_at()).time().value(), 2e6, 1e-3);
  EXPECT_NEAR(energy_of() / usual, 1.0, 1e-3);
}

TEST(KernelTime, ASpinInNanosecondsIgnoresTheClock) {
  Machine machine(bare().without(Mechanism::idle_ramp), 1);
  KernelWork spin;
  spin.fixed = milliseconds(12.5);
  EXPECT_NEAR(machine.run(spin, Nanoseconds(0)).time().value(), 12.5e6, 1e-3);
  machine.hold_clock(megahertz(500));
  EXPECT_NEAR(machine.run(spin, Nanoseconds(0)).time().value(), 12.5e6, 1e-3);
}

TEST(KernelTime, NoiseSparesWhatWaitsForAClock) {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.noise.sd = 0.1;
  p.noise.process_sd = 0.1;
  Machine machine(p, 1);
  KernelWork work = cycles_work(1e5);
  EXPECT_NEAR(machine.run(work, Nanoseconds(0)).time().value(), 1e5, 1e-3);
  work.accesses = {{machine.allocate(Bytes(64)), Bytes(64), false}};
  EXPECT_GT(std::abs(machine.run(work, Nanoseconds(0)).time().value() - 1e5), 1);
  work.helper = true;
  EXPECT_NEAR(machine.run(work, Nanoseconds(0)).time().value(), 1e5, 1);
}

}  // namespace
}  // namespace jitterscope::physics
