#include "physics/preset_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"

namespace jitterscope::physics {
namespace {

constexpr double kMilli = 1e6, kMicro = 1e3, kSecond = 1e9;  // in nanoseconds
constexpr double kMega = 1e6, kGiga = 1e9;
// A GPU's clock wandering, sliced or controlled faster than this would be simulated step by step for hours.
constexpr Range kPeriodMs{0.01, 1e6, "a time of at least 0.01 ms"};
constexpr Range kPeriodMsOrNone{0, 1e6, "a time in ms, or 0 for none"};

std::vector<DataType> data_types(PresetReader& reader, const std::vector<std::string>& names) {
  constexpr std::array kTypes = {DataType::f64, DataType::f32, DataType::tf32, DataType::f16, DataType::bf16};
  std::vector<std::string> known;
  for (const DataType type : kTypes) known.emplace_back(to_string(type));
  std::vector<DataType> types;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      reader.fail("data_types", fmt::format("'{}' is no data type{}", name, suggestion(name, known)));
    }
    types.push_back(kTypes.at(static_cast<std::size_t>(found - known.begin())));
  }
  return types;
}

void read_identity(PresetReader& reader, Identity& identity) {
  reader.start_table("identity");
  reader.text("name", identity.name);
  std::int64_t processors = identity.processors;
  reader.integer("processors", processors, 1, 4096);
  identity.processors = static_cast<int>(processors);
  reader.quantity("memory_gb", identity.memory, {0.1, 10000, "a number of gigabytes from 0.1"}, kGiga);
  std::vector<std::string> names;
  for (const DataType type : identity.data_types) names.emplace_back(to_string(type));
  reader.texts("data_types", names);
  identity.data_types = data_types(reader, names);
  auto number = static_cast<std::int64_t>(identity.device_number);
  reader.integer("device_number", number, 0, 1'000'000'000);
  identity.device_number = static_cast<std::uint64_t>(number);
}

void read_governor(PresetReader& reader, Governor& governor) {
  reader.start_table("governor");
  reader.quantity("maximum_clock_mhz", governor.maximum_clock, {1, 1e5, "a clock in MHz from 1 to 100000"},
                  kMega);
  reader.quantity("idle_clock_mhz", governor.idle_clock, {1, 1e5, "a clock in MHz from 1 to 100000"}, kMega);
  reader.quantity("step_mhz", governor.step, {1, 1e5, "a clock in MHz from 1 to 100000"}, kMega);
  reader.quantity("control_period_ms", governor.control_period, kPeriodMs, kMilli);
  reader.quantity("idle_timeout_ms", governor.idle_timeout, kNotNegative, kMilli);
  reader.quantity("ramp_delay_ms", governor.ramp_delay, kNotNegative, kMilli);
  reader.quantity("ramp_time_ms", governor.ramp_time, kNotNegative, kMilli);
}

void read_clock_states(PresetReader& reader, ClockStates& states) {
  reader.start_table("clock_states");
  reader.number("depth", states.depth, kProperShare);
  reader.quantity("mean_dwell_high_ms", states.mean_dwell_high, kPeriodMsOrNone, kMilli);
  reader.quantity("mean_dwell_low_ms", states.mean_dwell_low, kPeriodMsOrNone, kMilli);
  reader.quantity("redraw_idle_ms", states.redraw_idle, kNotNegative, kMilli);
}

void read_power(PresetReader& reader, Power& power) {
  reader.start_table("power");
  reader.quantity("idle_w", power.idle, kNotNegative);
  reader.number("leakage_per_celsius", power.leakage, kShare);
  reader.quantity("dynamic_w", power.dynamic, kNotNegative);
  reader.number("voltage_low_v", power.voltage_low, kPositive);
  reader.number("voltage_high_v", power.voltage_high, kPositive);
  reader.quantity("clock_low_mhz", power.clock_low, kNotNegative, kMega);
  reader.quantity("energy_per_byte_pj", power.energy_per_byte, kNotNegative, 1e-12);
  reader.quantity("peak_limit_w", power.peak_limit, kNotNegative);
  reader.quantity("cap_w", power.cap, kNotNegative);
  reader.quantity("averaging_time_ms", power.averaging_time, kNotNegative, kMilli);
  reader.quantity("cap_onset_ms", power.cap_onset, kNotNegative, kMilli);
  std::int64_t steps = power.hysteresis_steps;
  reader.integer("hysteresis_steps", steps, 0, 100);
  power.hysteresis_steps = static_cast<int>(steps);
}

void read_thermal(PresetReader& reader, Thermal& thermal) {
  reader.start_table("thermal");
  const Range celsius{-50, 200, "a temperature in °C from -50 to 200"};
  reader.quantity("ambient_celsius", thermal.ambient, celsius);
  reader.number("resistance_fast_celsius_per_w", thermal.resistance_fast, kNotNegative);
  reader.number("resistance_slow_celsius_per_w", thermal.resistance_slow, kNotNegative);
  reader.quantity("time_fast_s", thermal.time_fast, {0.01, 1e6, "a time of at least 0.01 s"}, kSecond);
  reader.quantity("time_slow_s", thermal.time_slow, {0.01, 1e6, "a time of at least 0.01 s"}, kSecond);
  reader.quantity("slowdown_celsius", thermal.slowdown_temperature, celsius);
}

void read_memory(PresetReader& reader, Memory& memory) {
  reader.start_table("memory");
  reader.number("dram_bandwidth_gb_per_s", memory.dram_bandwidth, kPositive, kGiga);
  reader.number("l2_bandwidth_gb_per_s", memory.l2_bandwidth, kPositive, kGiga);
  reader.number("miss_bandwidth_gb_per_s", memory.miss_bandwidth, kNotNegative, kGiga);
  reader.number("write_back_bandwidth_gb_per_s", memory.write_back_bandwidth, kNotNegative, kGiga);
  reader.quantity("l2_latency_us", memory.l2_latency, kNotNegative, kMicro);
  reader.quantity("dram_latency_us", memory.dram_latency, kNotNegative, kMicro);
  reader.number("host_bandwidth_pinned_gb_per_s", memory.host_bandwidth_pinned, kPositive, kGiga);
  reader.number("host_bandwidth_pageable_gb_per_s", memory.host_bandwidth_pageable, kPositive, kGiga);
  reader.quantity("l2_capacity_mb", memory.l2_capacity, {0.01, 1e6, "a number of megabytes from 0.01"},
                  kMega);
  reader.number("far_share", memory.far_share, kShare);
  reader.number("far_penalty", memory.far_penalty, kNotNegative);
  reader.number("refresh_tax", memory.refresh_tax, kProperShare);
  reader.quantity("refresh_celsius", memory.refresh_temperature, kNotNegative);
}

void read_compute(PresetReader& reader, Compute& compute) {
  reader.start_table("compute");
  reader.number("f64_flops_per_cycle", compute.f64, kNotNegative);
  reader.number("f32_flops_per_cycle", compute.f32, kNotNegative);
  reader.number("tf32_flops_per_cycle", compute.tf32, kNotNegative);
  reader.number("f16_flops_per_cycle", compute.f16, kNotNegative);
  reader.number("bf16_flops_per_cycle", compute.bf16, kNotNegative);
  const Range efficiency{0.001, 1, "a share between 0.001 and 1"};
  reader.number("conv2d_efficiency", compute.conv2d_efficiency, efficiency);
  reader.number("matmul_efficiency", compute.matmul_efficiency, efficiency);
  reader.number("tile_mflops", compute.tile_flops, kPositive, kMega);
  reader.number("overlap", compute.overlap, {1, 100, "an exponent from 1 (one after the other) to 100"});
  reader.quantity("kernel_floor_us", compute.kernel_floor, kNotNegative, kMicro);
  reader.quantity("block_cost_ns", compute.block_cost, kNotNegative);
  reader.number("conv2d_activity", compute.conv2d_activity, kNotNegative);
  reader.number("matmul_activity", compute.matmul_activity, kNotNegative);
  reader.number("memory_activity", compute.memory_activity, kNotNegative);
}

void read_data(PresetReader& reader, DataPower& data) {
  reader.start_table("data");
  reader.number("uniform", data.uniform, kNotNegative);
  reader.number("zeros", data.zeros, kNotNegative);
  reader.number("ones", data.ones, kNotNegative);
  reader.number("sparse", data.sparse, kNotNegative);
}

void read_launch(PresetReader& reader, LaunchCosts& launch) {
  reader.start_table("launch");
  reader.quantity("host_median_us", launch.host_median, kNotNegative, kMicro);
  reader.number("host_sigma", launch.host_sigma, {0, 3, "a number from 0 to 3"});
  reader.number("tail_probability", launch.tail_probability, kShare);
  reader.quantity("tail_scale_us", launch.tail_scale, kNotNegative, kMicro);
  reader.quantity("latency_us", launch.latency, kNotNegative, kMicro);
  reader.quantity("gap_us", launch.gap, kNotNegative, kMicro);
  reader.quantity("graph_gap_us", launch.graph_gap, kNotNegative, kMicro);
  reader.quantity("synchronize_cost_us", launch.synchronize_cost, kNotNegative, kMicro);
  reader.quantity("allocation_cost_us", launch.allocation_cost, kNotNegative, kMicro);
}

void read_disturbances(PresetReader& reader, Parameters& parameters) {
  OneTimeWork& one_time = parameters.one_time;
  reader.start_table("one_time");
  reader.quantity("module_load_ms", one_time.module_load, kNotNegative, kMilli);
  reader.quantity("graph_first_replay_us", one_time.graph_first_replay, kNotNegative, kMicro);
  reader.start_table("placement");
  reader.number("sd", parameters.placement.sd, {0, 0.1, "a share between 0 and 0.1"});
  Contention& contention = parameters.contention;
  reader.start_table("contention");
  reader.quantity("mean_on_ms", contention.mean_on, kPeriodMsOrNone, kMilli);
  reader.quantity("mean_off_ms", contention.mean_off, kPeriodMsOrNone, kMilli);
  reader.number("bandwidth_loss", contention.bandwidth_loss, kProperShare);
  reader.quantity("time_slice_ms", contention.time_slice, kPeriodMsOrNone, kMilli);
  reader.flag("visible", contention.visible);
}

void read_noise(PresetReader& reader, Noise& noise) {
  reader.start_table("noise");
  reader.number("sd", noise.sd, {0, 0.2, "a share between 0 and 0.2"});
  reader.number("correlation", noise.correlation, {-0.99, 0.9999, "a number between -0.99 and 0.9999"});
  reader.number("spike_probability", noise.spike_probability, kShare);
  reader.number("spike_mean", noise.spike_mean, {0, 1000, "a share of the time from 0 to 1000"});
  reader.number("drift", noise.drift, {-0.9, 10, "a relative change between -0.9 and 10"});
  reader.quantity("drift_time_s", noise.drift_time, kNotNegative, kSecond);
  reader.number("period_amplitude", noise.period_amplitude, {0, 0.5, "a share between 0 and 0.5"});
  reader.quantity("period_ms", noise.period, kNotNegative, kMilli);
  reader.number("process_sd", noise.process_sd, {0, 0.1, "a share between 0 and 0.1"});
  reader.number("device_sd", noise.device_sd, {0, 0.1, "a share between 0 and 0.1"});
}

void read_instruments(PresetReader& reader, Instruments& instruments) {
  reader.start_table("instruments");
  reader.quantity("mark_overhead_us", instruments.mark_overhead, kNotNegative, kMicro);
  reader.quantity("mark_jitter_ns", instruments.mark_jitter, kNotNegative);
  reader.quantity("mark_grain_ns", instruments.mark_grain, kNotNegative);
  reader.quantity("node_overhead_us", instruments.node_overhead, kNotNegative, kMicro);
  reader.quantity("stamp_time_us", instruments.stamp_time, kNotNegative, kMicro);
  reader.quantity("stamp_grain_ns", instruments.stamp_grain, kNotNegative);
  reader.quantity("trace_bias_us", instruments.trace_bias, kAny, kMicro);
  reader.number("trace_slowdown", instruments.trace_slowdown, {1, 100, "a factor from 1 to 100"});
}

void read_sensors(PresetReader& reader, Sensors& sensors) {
  reader.start_table("sensors");
  reader.quantity("power_average_ms", sensors.power_average, kPositive, kMilli);
  reader.quantity("power_update_ms", sensors.power_update, kNotNegative, kMilli);
  reader.quantity("clock_update_ms", sensors.clock_update, kNotNegative, kMilli);
  reader.quantity("clock_error_mhz", sensors.clock_error, kNotNegative, kMega);
  reader.flag("power", sensors.power);
  reader.flag("temperature", sensors.temperature);
  reader.flag("energy", sensors.energy);
  reader.flag("throttle_counters", sensors.throttle_counters);
  reader.flag("clock", sensors.clock);
  reader.flag("may_lock_clocks", sensors.may_lock_clocks);
}

}  // namespace

void read_keys(PresetReader& reader, Parameters& parameters) {
  read_identity(reader, parameters.identity);
  read_governor(reader, parameters.governor);
  read_clock_states(reader, parameters.clock_states);
  read_power(reader, parameters.power);
  read_thermal(reader, parameters.thermal);
  read_memory(reader, parameters.memory);
  read_compute(reader, parameters.compute);
  read_data(reader, parameters.data);
  read_launch(reader, parameters.launch);
  read_disturbances(reader, parameters);
  read_noise(reader, parameters.noise);
  read_instruments(reader, parameters.instruments);
  read_sensors(reader, parameters.sensors);
  reader.finish();
}

}  // namespace jitterscope::physics
