#include "physics/kernel_time.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

Parameters shared() {
  Parameters p = bare().without(Mechanism::idle_ramp);
  p.contention.mean_on = milliseconds(200);
  p.contention.mean_off = milliseconds(600);
  return p;
}

/// From each change to the next.
std::vector<double> lengths(OtherProcess& other, bool active, int count) {
  std::vector<double> found;
  Nanoseconds time(0);
  while (static_cast<int>(found.size()) < count) {
    const Nanoseconds until = other.share_at(time).until;
    if (other.is_active(time) == active && time > Nanoseconds(0)) found.push_back((until - time).value());
    time = until;
  }
  return found;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(OtherProcess, DwellsHaveTheirMeans) {
  OtherProcess other(shared(), 5);
  EXPECT_NEAR(mean(lengths(other, true, 10000)), 200e6, 6e6);  // 3 standard errors of 1 %
  EXPECT_NEAR(mean(lengths(other, false, 10000)), 600e6, 18e6);
}

TEST(OtherProcess, CanBeAskedAboutThePast) {
  OtherProcess other(shared(), 5);
  std::vector<bool> first;
  for (int i = 0; i < 100; ++i) first.push_back(other.is_active(milliseconds(100.0 * i)));
  for (int i = 99; i >= 0; --i)
    EXPECT_EQ(other.is_active(milliseconds(100.0 * i)), first[static_cast<std::size_t>(i)]);
}

TEST(OtherProcess, TakesBandwidthWhileItRuns) {
  Parameters p = shared();
  p.contention.bandwidth_loss = 0.2;
  Machine machine(p, 5);
  KernelWork read;
  const Bytes size(1'000'000);
  read.accesses = {{machine.allocate(size), size, false}};
  machine.run(read, Nanoseconds(0));
  int slow = 0, fast = 0;
  for (const Execution& execution : run_until(machine, read, seconds(5))) {
    const bool at_start = machine.other_process_is_active(execution.start);
    if (at_start != machine.other_process_is_active(execution.end)) continue;
    EXPECT_NEAR(execution.time().value(), at_start ? 250 / 0.8 : 250, 1e-3);
    (at_start ? slow : fast)++;
  }
  EXPECT_GT(slow, 1000);
  EXPECT_GT(fast, 1000);
}

TEST(OtherProcess, TakesTurns) {
  Parameters p = shared();
  p.contention.time_slice = milliseconds(2);
  p.contention.mean_on = seconds(1e6);
  p.contention.mean_off = milliseconds(0.01);
  Machine machine(p, 5);
  // 2 ms for the other, 2 ms for us: 7 ms of work end after 3 whole cycles and 3 ms.
  KernelWork spin;
  spin.fixed = milliseconds(7);
  ASSERT_TRUE(machine.other_process_is_active(Nanoseconds(0)));
  EXPECT_NEAR(machine.run(spin, Nanoseconds(0)).time().value(), 15e6, 1e-3);
}

TEST(OtherProcess, CanBeInvisibleOrAbsent) {
  Parameters p = shared();
  p.contention.mean_off = milliseconds(0.01);
  EXPECT_TRUE(Machine(p, 5).other_process_is_active(seconds(1)));
  EXPECT_FALSE(Machine(p.without(Mechanism::contention), 5).other_process_is_active(seconds(1)));
  p.contention.visible = false;
  EXPECT_FALSE(Machine(p, 5).other_process_is_active(seconds(1)));
}

}  // namespace
}  // namespace jitterscope::physics
