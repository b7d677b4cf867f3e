// A GPU without any disturbance, whose times follow from a few numbers.
#pragma once

#include <cmath>
#include <vector>

#include "physics/machine.hpp"

namespace jitterscope::physics {

/// 1000 MHz, no limits, no noise; DRAM 1000 bytes/ns, L2 4000 bytes/ns, 100 MB of cache.
inline Parameters bare() {
  Parameters p;
  p.identity.name = "bare";
  p.governor.maximum_clock = megahertz(1000);
  p.governor.idle_clock = megahertz(200);
  p.governor.step = megahertz(10);
  p.governor.control_period = milliseconds(5);
  p.governor.idle_timeout = milliseconds(100);
  p.power.idle = Watts(50);
  p.power.dynamic = Watts(400);
  p.power.voltage_low = p.power.voltage_high = 1.0;
  p.power.averaging_time = milliseconds(50);
  p.thermal.ambient = Celsius(25);
  p.thermal.time_fast = seconds(2);
  p.thermal.time_slow = seconds(50);
  p.memory.dram_bandwidth = 1e12;
  p.memory.l2_bandwidth = 4e12;
  p.memory.l2_capacity = Bytes(100'000'000);
  p.compute.overlap = 1;
  p.sensors.power_average = milliseconds(100);
  return p;
}

inline KernelWork cycles_work(double cycles, double activity = 0) {
  KernelWork work;
  work.compute = Cycles(cycles);
  work.activity = activity;
  return work;
}

/// Back to back until `end`.
inline std::vector<Execution> run_until(Machine& machine, const KernelWork& work, Nanoseconds end) {
  std::vector<Execution> executions;
  while (machine.free_at() < end) executions.push_back(machine.run(work, machine.free_at()));
  return executions;
}

}  // namespace jitterscope::physics
