#include "device/virtual/gpus.hpp"

#include "statistics/statistics.hpp"

namespace jitterscope::virtual_gpu {

physics::Parameters plain_gpu() {
  physics::Parameters gpu;
  gpu.identity.name = "plain";
  gpu.identity.processors = 100;
  gpu.identity.memory = Bytes(std::int64_t{4} << 30);
  gpu.identity.data_types = {DataType::f64, DataType::f32, DataType::f16, DataType::bf16};
  gpu.governor.maximum_clock = gpu.governor.idle_clock = megahertz(1000);
  gpu.governor.step = megahertz(10);
  gpu.governor.control_period = milliseconds(1);
  gpu.governor.idle_timeout = milliseconds(10);
  gpu.governor.ramp_time = milliseconds(1);
  gpu.power.idle = Watts(50);
  gpu.power.dynamic = Watts(100);
  gpu.power.clock_low = megahertz(500);
  gpu.power.averaging_time = milliseconds(10);
  gpu.thermal.ambient = Celsius(25);
  gpu.thermal.time_fast = seconds(1);
  gpu.thermal.time_slow = seconds(30);
  gpu.thermal.slowdown_temperature = Celsius(90);
  gpu.memory.dram_bandwidth = 1e12;
  gpu.memory.l2_bandwidth = 4e12;
  gpu.memory.l2_capacity = Bytes(32 << 20);
  gpu.memory.host_bandwidth_pinned = 50e9;
  gpu.memory.host_bandwidth_pageable = 10e9;
  gpu.compute.f64 = 1000;
  gpu.compute.f32 = 10'000;
  gpu.compute.tf32 = 40'000;
  gpu.compute.f16 = gpu.compute.bf16 = 100'000;
  gpu.compute.conv2d_efficiency = 0.5;
  for (physics::Product* product : {&gpu.product_f64, &gpu.product_f32, &gpu.product_tf32, &gpu.product_f16})
    product->split = microseconds(1000);  // tiles alone
  gpu.compute.kernel_floor = microseconds(1);
  gpu.compute.block_cost = Nanoseconds(2);
  gpu.launch.host_median = microseconds(3);
  gpu.launch.latency = microseconds(5);
  gpu.launch.gap = microseconds(1);
  gpu.launch.graph_gap = microseconds(0.5);
  gpu.launch.synchronize_cost = microseconds(4);
  gpu.launch.allocation_cost = microseconds(10);
  gpu.one_time.module_load = milliseconds(2);
  gpu.one_time.graph_first_replay = microseconds(20);
  gpu.instruments.mark_overhead = microseconds(2);
  gpu.instruments.node_overhead = microseconds(0.1);
  gpu.instruments.stamp_time = microseconds(1);
  gpu.instruments.trace_bias = Nanoseconds(30);
  gpu.instruments.trace_slowdown = 2.0;
  gpu.instruments.mark_grain = gpu.instruments.stamp_grain = Nanoseconds(32);
  gpu.sensors.power_average = seconds(1);
  gpu.sensors.power_update = gpu.sensors.clock_update = milliseconds(20);
  gpu.off.fill(true);
  gpu.off[static_cast<std::size_t>(physics::Mechanism::cache)] = false;
  gpu.off[static_cast<std::size_t>(physics::Mechanism::dirty_lines)] = false;
  return gpu;
}

Bench::Bench(const physics::Parameters& parameters, std::uint64_t seed)
    : device(make_virtual_device(parameters, seed)), queue(device->make_queue()) {
  device->on_launch = [this](const physics::Execution& execution) { ran.push_back(execution); };
}

std::unique_ptr<PreparedOperation> Bench::prepare(std::string_view operation, DataKind kind) const {
  return device->prepare(Operation::parse(operation), {.kind = kind, .seed = 1});
}

Nanoseconds Bench::time_of(PreparedOperation& operation, CacheState cache) const {
  constexpr int kLaunches = 15;
  queue->launch(operation);
  queue->wait();
  queue->hold();
  std::vector<Mark> marks;
  for (int i = 0; i < kLaunches; ++i) {
    queue->set_cache(cache, operation);
    marks.push_back(queue->mark());
    queue->launch(operation);
    marks.push_back(queue->mark());
  }
  queue->wait();
  std::vector<double> times;
  for (std::size_t i = 0; i < marks.size(); i += 2)
    times.push_back(queue->elapsed(marks[i], marks[i + 1]).value());
  return Nanoseconds(statistics::median(times));
}

}  // namespace jitterscope::virtual_gpu
