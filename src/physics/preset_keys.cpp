#include "physics/preset_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace jitterscope::physics {
namespace {

/// What a number may be.
struct Range {
  double lowest, highest;
  std::string_view words;
};
// No GPU comes near 1e12 of any unit used; beyond it a simulation would count in rounding errors.
constexpr Range kPositive{1e-9, 1e12, "a positive number"};
constexpr Range kNotNegative{0, 1e12, "a number of at least 0"};
constexpr Range kAny{-1e12, 1e12, "a number"};
constexpr Range kShare{0, 1, "a share between 0 and 1"};
constexpr Range kProperShare{0, 0.99, "a share between 0 and 0.99"};
constexpr Range kTenth{0, 0.1, "a share between 0 and 0.1"};
constexpr Range kEfficiency{0.001, 1, "a share between 0.001 and 1"};
constexpr Range kExponent{1, 100, "an exponent from 1 (one after the other) to 100"};
constexpr Range kClock{1, 1e5, "a clock in MHz from 1 to 100000"};
constexpr Range kCelsius{-50, 200, "a temperature in °C from -50 to 200"};
constexpr Range kSeconds{0.01, 1e6, "a time of at least 0.01 s"};
// A GPU's clock wandering, sliced or controlled faster than this would be simulated step by step for hours.
constexpr Range kPeriod{0.01, 1e6, "a time of at least 0.01 ms"};
constexpr Range kPeriodOrNone{0, 1e6, "a time in ms, or 0 for none"};

constexpr double kMicro = 1e3, kMilli = 1e6, kSecond = 1e9;  // in nanoseconds
constexpr double kMega = 1e6, kGiga = 1e9;

const toml::node* const kRight = nullptr;

template <class Member>
Key number(std::string path, Member& member, const Range& range, double unit = 1.0) {
  return {std::move(path), std::string(range.words), [&member, range, unit](const toml::node& node) {
            const double value = node.is_number() ? node.value<double>().value_or(NAN) : NAN;
            if (!(value >= range.lowest && value <= range.highest)) return &node;
            if constexpr (std::is_same_v<Member, Bytes>) {
              member = Bytes(static_cast<std::int64_t>(value * unit));
            } else {
              member = Member(value * unit);
            }
            return kRight;
          }};
}

template <class Member>
Key whole(const char* path, Member& member, std::int64_t lowest, std::int64_t highest) {
  return {path, fmt::format("a whole number from {} to {}", lowest, highest),
          [&member, lowest, highest](const toml::node& node) {
            const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
            if (!value || *value < lowest || *value > highest) return &node;
            member = static_cast<Member>(*value);
            return kRight;
          }};
}

Key flag(const char* path, bool& member) {
  return {path, "true or false", [&member](const toml::node& node) {
            if (!node.is_boolean()) return &node;
            member = *node.value<bool>();
            return kRight;
          }};
}

Key text(const char* path, std::string& member) {
  return {path, "a text in quotes", [&member](const toml::node& node) {
            if (!node.is_string()) return &node;
            member = *node.value<std::string>();
            return kRight;
          }};
}

Key types(const char* path, std::vector<DataType>& member) {
  return {path, R"(a list of "f64", "f32", "tf32", "f16" and "bf16", or some of them)",
          [&member](const toml::node& node) {
            using enum DataType;
            if (!node.is_array()) return &node;
            member.clear();
            for (const toml::node& item : *node.as_array()) {
              const std::size_t before = member.size();
              for (const DataType type : {f64, f32, tf32, f16, bf16}) {
                if (item.value<std::string>() == to_string(type)) member.push_back(type);
              }
              if (member.size() == before) return &item;
            }
            return kRight;
          }};
}

void add_product_keys(std::vector<Key>& keys, const std::string& table, Product& product) {
  const auto add = [&](const char* name, auto& member, const Range& range, double unit = 1.0) {
    keys.push_back(number(table + '.' + name, member, range, unit));
  };
  add("efficiency", product.efficiency, kEfficiency);
  add("activity", product.activity, kNotNegative);
  add("start_us", product.start, kNotNegative, kMicro);
  add("tile_us", product.tile, kNotNegative, kMicro);
  add("step_ns", product.step, kNotNegative);
  add("feed_gb_per_s", product.feed, kNotNegative, kGiga);
  add("split_us", product.split, kNotNegative, kMicro);
  add("piece_ns", product.piece, kNotNegative);
  add("pieces_gb_per_s", product.pieces_bandwidth, kNotNegative, kGiga);
  add("bias_us", product.bias, kNotNegative, kMicro);
  add("stall_ns", product.stall, kNotNegative);
}

}  // namespace

std::vector<Key> preset_keys(Parameters& p) {
  std::vector<Key> keys = {
      text("identity.name", p.identity.name),
      whole("identity.processors", p.identity.processors, 1, 4096),
      number("identity.memory_gb", p.identity.memory, {0.1, 10000, "a number of gigabytes from 0.1"}, kGiga),
      types("identity.data_types", p.identity.data_types),
      whole("identity.architecture", p.identity.architecture, 50, 999),
      whole("identity.device_number", p.identity.device_number, 0, 1'000'000'000),
      number("governor.maximum_clock_mhz", p.governor.maximum_clock, kClock, kMega),
      number("governor.idle_clock_mhz", p.governor.idle_clock, kClock, kMega),
      number("governor.step_mhz", p.governor.step, kClock, kMega),
      number("governor.control_period_ms", p.governor.control_period, kPeriod, kMilli),
      number("governor.idle_timeout_ms", p.governor.idle_timeout, kNotNegative, kMilli),
      number("governor.ramp_delay_ms", p.governor.ramp_delay, kNotNegative, kMilli),
      number("governor.ramp_time_ms", p.governor.ramp_time, kNotNegative, kMilli),
      number("clock_states.depth", p.clock_states.depth, kProperShare),
      number("clock_states.mean_dwell_high_ms", p.clock_states.mean_dwell_high, kPeriodOrNone, kMilli),
      number("clock_states.mean_dwell_low_ms", p.clock_states.mean_dwell_low, kPeriodOrNone, kMilli),
      number("clock_states.redraw_idle_ms", p.clock_states.redraw_idle, kNotNegative, kMilli),
      number("power.idle_w", p.power.idle, kNotNegative),
      number("power.leakage_per_celsius", p.power.leakage, kShare),
      number("power.dynamic_w", p.power.dynamic, kNotNegative),
      number("power.voltage_low_v", p.power.voltage_low, kPositive),
      number("power.voltage_high_v", p.power.voltage_high, kPositive),
      number("power.clock_low_mhz", p.power.clock_low, kNotNegative, kMega),
      number("power.energy_per_byte_pj", p.power.energy_per_byte, kNotNegative, 1e-12),
      number("power.peak_limit_w", p.power.peak_limit, kNotNegative),
      number("power.cap_w", p.power.cap, kNotNegative),
      number("power.averaging_time_ms", p.power.averaging_time, kNotNegative, kMilli),
      number("power.cap_onset_ms", p.power.cap_onset, kNotNegative, kMilli),
      whole("power.hysteresis_steps", p.power.hysteresis_steps, 0, 100),
      number("thermal.ambient_celsius", p.thermal.ambient, kCelsius),
      number("thermal.resistance_fast_celsius_per_w", p.thermal.resistance_fast, kNotNegative),
      number("thermal.resistance_slow_celsius_per_w", p.thermal.resistance_slow, kNotNegative),
      number("thermal.time_fast_s", p.thermal.time_fast, kSeconds, kSecond),
      number("thermal.time_slow_s", p.thermal.time_slow, kSeconds, kSecond),
      number("thermal.slowdown_celsius", p.thermal.slowdown_temperature, kCelsius),
      number("memory.dram_bandwidth_gb_per_s", p.memory.dram_bandwidth, kPositive, kGiga),
      number("memory.l2_bandwidth_gb_per_s", p.memory.l2_bandwidth, kPositive, kGiga),
      number("memory.miss_bandwidth_gb_per_s", p.memory.miss_bandwidth, kNotNegative, kGiga),
      number("memory.write_back_bandwidth_gb_per_s", p.memory.write_back_bandwidth, kNotNegative, kGiga),
      number("memory.l2_latency_us", p.memory.l2_latency, kNotNegative, kMicro),
      number("memory.dram_latency_us", p.memory.dram_latency, kNotNegative, kMicro),
      number("memory.host_bandwidth_pinned_gb_per_s", p.memory.host_bandwidth_pinned, kPositive, kGiga),
      number("memory.host_bandwidth_pageable_gb_per_s", p.memory.host_bandwidth_pageable, kPositive, kGiga),
      number("memory.l2_capacity_mb", p.memory.l2_capacity, {0.01, 1e6, "a number of megabytes from 0.01"},
             kMega),
      number("memory.far_share", p.memory.far_share, kShare),
      number("memory.far_penalty", p.memory.far_penalty, kNotNegative),
      number("memory.refresh_tax", p.memory.refresh_tax, kProperShare),
      number("memory.refresh_celsius", p.memory.refresh_temperature, kNotNegative),
      number("compute.f64_flops_per_cycle", p.compute.f64, kNotNegative),
      number("compute.f32_flops_per_cycle", p.compute.f32, kNotNegative),
      number("compute.tf32_flops_per_cycle", p.compute.tf32, kNotNegative),
      number("compute.f16_flops_per_cycle", p.compute.f16, kNotNegative),
      number("compute.bf16_flops_per_cycle", p.compute.bf16, kNotNegative),
      number("compute.conv2d_efficiency", p.compute.conv2d_efficiency, kEfficiency),
      number("compute.attention_efficiency", p.compute.attention_efficiency, kEfficiency),
      number("compute.conversion_us", p.compute.conversion, kNotNegative, kMicro),
      number("compute.conversion_gb_per_s", p.compute.conversion_bandwidth, kNotNegative, kGiga),
      number("compute.attention_beside_us", p.compute.attention_beside, kNotNegative, kMicro),
      number("compute.product_overlap", p.compute.product_overlap, kExponent),
      number("compute.tiles_at_once", p.compute.tiles_at_once, kPositive),
      number("compute.store_gb_per_s", p.compute.store, kNotNegative, kGiga),
      number("compute.unaligned_feed_gb_per_s", p.compute.unaligned_feed, kNotNegative, kGiga),
      number("compute.row_feed_gb_per_s", p.compute.row_feed, kPositive, kGiga),
      number("compute.own_sum_step_ns", p.compute.own_sum_step, kNotNegative),
      number("compute.overlap", p.compute.overlap, kExponent),
      number("compute.kernel_floor_us", p.compute.kernel_floor, kNotNegative, kMicro),
      number("compute.block_cost_ns", p.compute.block_cost, kNotNegative),
      number("compute.conv2d_activity", p.compute.conv2d_activity, kNotNegative),
      number("compute.memory_activity", p.compute.memory_activity, kNotNegative),
  };
  add_product_keys(keys, "product_f64", p.product_f64);
  add_product_keys(keys, "product_f32", p.product_f32);
  add_product_keys(keys, "product_tf32", p.product_tf32);
  add_product_keys(keys, "product_f16", p.product_f16);
  std::vector<Key> others = {
      number("data.uniform", p.data.uniform, kNotNegative),
      number("data.zeros", p.data.zeros, kNotNegative),
      number("data.ones", p.data.ones, kNotNegative),
      number("data.sparse", p.data.sparse, kNotNegative),
      number("launch.host_median_us", p.launch.host_median, kNotNegative, kMicro),
      number("launch.host_sigma", p.launch.host_sigma, {0, 3, "a number from 0 to 3"}),
      number("launch.tail_probability", p.launch.tail_probability, kShare),
      number("launch.tail_scale_us", p.launch.tail_scale, kNotNegative, kMicro),
      number("launch.latency_us", p.launch.latency, kNotNegative, kMicro),
      number("launch.gap_us", p.launch.gap, kNotNegative, kMicro),
      number("launch.graph_gap_us", p.launch.graph_gap, kNotNegative, kMicro),
      number("launch.synchronize_cost_us", p.launch.synchronize_cost, kNotNegative, kMicro),
      number("launch.allocation_cost_us", p.launch.allocation_cost, kNotNegative, kMicro),
      number("one_time.module_load_ms", p.one_time.module_load, kNotNegative, kMilli),
      number("one_time.graph_first_replay_us", p.one_time.graph_first_replay, kNotNegative, kMicro),
      number("placement.sd", p.placement.sd, kTenth),
      number("contention.mean_on_ms", p.contention.mean_on, kPeriodOrNone, kMilli),
      number("contention.mean_off_ms", p.contention.mean_off, kPeriodOrNone, kMilli),
      number("contention.bandwidth_loss", p.contention.bandwidth_loss, kProperShare),
      number("contention.time_slice_ms", p.contention.time_slice, kPeriodOrNone, kMilli),
      flag("contention.visible", p.contention.visible),
      number("noise.sd", p.noise.sd, {0, 0.2, "a share between 0 and 0.2"}),
      number("noise.correlation", p.noise.correlation, {-0.99, 0.9999, "a number between -0.99 and 0.9999"}),
      number("noise.spike_probability", p.noise.spike_probability, kShare),
      number("noise.spike_mean", p.noise.spike_mean, {0, 1000, "a share of the time from 0 to 1000"}),
      number("noise.drift", p.noise.drift, {-0.9, 10, "a relative change between -0.9 and 10"}),
      number("noise.drift_time_s", p.noise.drift_time, kNotNegative, kSecond),
      number("noise.period_amplitude", p.noise.period_amplitude, {0, 0.5, "a share between 0 and 0.5"}),
      number("noise.period_ms", p.noise.period, kNotNegative, kMilli),
      number("noise.process_sd", p.noise.process_sd, kTenth),
      number("noise.device_sd", p.noise.device_sd, kTenth),
      number("instruments.mark_overhead_us", p.instruments.mark_overhead, kNotNegative, kMicro),
      number("instruments.mark_jitter_ns", p.instruments.mark_jitter, kNotNegative),
      number("instruments.mark_grain_ns", p.instruments.mark_grain, kNotNegative),
      number("instruments.node_overhead_us", p.instruments.node_overhead, kNotNegative, kMicro),
      number("instruments.stamp_time_us", p.instruments.stamp_time, kNotNegative, kMicro),
      number("instruments.stamp_grain_ns", p.instruments.stamp_grain, kNotNegative),
      number("instruments.trace_bias_us", p.instruments.trace_bias, kAny, kMicro),
      number("instruments.trace_slowdown", p.instruments.trace_slowdown, {1, 100, "a factor from 1 to 100"}),
      number("sensors.power_average_ms", p.sensors.power_average, kPositive, kMilli),
      number("sensors.power_update_ms", p.sensors.power_update, kNotNegative, kMilli),
      number("sensors.clock_update_ms", p.sensors.clock_update, kNotNegative, kMilli),
      number("sensors.clock_error_mhz", p.sensors.clock_error, kNotNegative, kMega),
      flag("sensors.power", p.sensors.power),
      flag("sensors.temperature", p.sensors.temperature),
      flag("sensors.energy", p.sensors.energy),
      flag("sensors.throttle_counters", p.sensors.throttle_counters),
      flag("sensors.clock", p.sensors.clock),
      flag("sensors.may_lock_clocks", p.sensors.may_lock_clocks),
  };
  std::ranges::move(others, std::back_inserter(keys));
  return keys;
}

}  // namespace jitterscope::physics
