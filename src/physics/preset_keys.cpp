#include "physics/preset_keys.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::physics {
namespace {

/// The limits of a number.
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
// Clock changes, slices or control steps below this would make a simulation take hours.
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

namespace {

bool is_multiple(Hertz clock, Hertz step) { return std::abs(clock / step - std::round(clock / step)) < 1e-6; }

// Faster changes would make a simulation take hours.
bool is_too_short(Nanoseconds time) { return time < microseconds(10); }

/// A data type in which the GPU computes nothing, or empty.
std::string_view idle_type(const Parameters& p) {
  const Compute& compute = p.compute;
  const std::array<double, 5> rates = {compute.f64, compute.f32, compute.tf32, compute.f16, compute.bf16};
  for (const DataType type : p.identity.data_types) {
    if (rates.at(static_cast<std::size_t>(type)) <= 0) return to_string(type);
  }
  return {};
}

}  // namespace

std::string contradiction(const Parameters& p) {
  const Governor& governor = p.governor;
  const Power& power = p.power;
  const Nanoseconds none(0);
  const double resistance = p.thermal.resistance_fast + p.thermal.resistance_slow;
  const struct {
    bool holds;
    const char* words;
  } contradictions[] = {
      {governor.idle_clock > governor.maximum_clock, "[governor] idle_clock_mhz is above maximum_clock_mhz"},
      {!is_multiple(governor.maximum_clock, governor.step) ||
           !is_multiple(governor.idle_clock, governor.step),
       "[governor] maximum_clock_mhz and idle_clock_mhz must be multiples of step_mhz"},
      {governor.maximum_clock / governor.step > 100'000, "[governor] step_mhz is too small"},
      {power.voltage_low > power.voltage_high, "[power] voltage_low_v is above voltage_high_v"},
      {power.clock_low > governor.maximum_clock,
       "[power] clock_low_mhz is above [governor] maximum_clock_mhz"},
      {power.cap > Watts(0) && power.cap <= power.idle, "[power] cap_w is not above idle_w"},
      {power.peak_limit > Watts(0) && power.peak_limit <= power.idle,
       "[power] peak_limit_w is not above idle_w"},
      {power.idle.value() * power.leakage * resistance >= 0.5,
       "[power] leakage_per_celsius and [thermal] resistances are so large that the idle GPU heats itself "
       "without end"},
      {p.clock_states.depth > 0 &&
           is_too_short(std::min(p.clock_states.mean_dwell_high, p.clock_states.mean_dwell_low)),
       "[clock_states] with a depth needs dwells of at least 0.01 ms"},
      {p.contention.mean_on > none && is_too_short(std::min(p.contention.mean_on, p.contention.mean_off)),
       "[contention] mean_on_ms and mean_off_ms must be at least 0.01"},
      {p.contention.time_slice > none && is_too_short(p.contention.time_slice),
       "[contention] time_slice_ms must be at least 0.01, or 0 for none"},
      {p.noise.drift != 0 && p.noise.drift_time <= none, "[noise] drift needs a positive drift_time_s"},
      {p.noise.period_amplitude > 0 && p.noise.period <= none,
       "[noise] period_amplitude needs a positive period_ms"},
      {p.identity.name.empty(), "[identity] name is empty"}};
  for (const auto& each : contradictions) {
    if (each.holds) return each.words;
  }
  const std::string_view type = idle_type(p);
  if (type.empty()) return {};
  return fmt::format("[compute] {0}_flops_per_cycle is 0, but [identity] data_types names {0}", type);
}

namespace {

/// True for [word] and [[word]], a preset's only kinds of tables.
bool is_table_header(std::string_view code) {
  const std::string_view end = code.starts_with("[[") ? "]]" : "]";
  code.remove_prefix(end.size() - 1);
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const auto close = std::find_if_not(code.begin() + 1, code.end(), is_word);
  const std::string_view rest(close, code.end());
  return close != code.begin() + 1 && rest.starts_with(end) &&
         std::ranges::all_of(rest.substr(end.size()), [](char c) { return c == ' ' || c == '\t'; });
}

/// The problem with a line, or empty. A text over several lines could hide what is a comment.
std::string_view problem_of(std::string_view line) {
  std::size_t code_end = line.size();
  char quote = 0;
  bool is_escaped = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return "a control character: this is no text";
    if (i > code_end) continue;
    if (byte > 0x7f) return "a character beyond ASCII, which only comments may have";
    if (is_escaped) {
      is_escaped = false;
    } else if (quote != 0) {
      is_escaped = quote == '"' && c == '\\';
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      code_end = i;
    }
  }
  const std::string_view code = line.substr(0, code_end);
  if (code.find("\"\"\"") != std::string_view::npos || code.find("'''") != std::string_view::npos) {
    return "a text over several lines, which no key has";
  }
  const std::size_t first = std::min(code.find_first_not_of(" \t"), code.size());
  if (code.substr(first).starts_with('[') && !is_table_header(code.substr(first))) {
    return "expected a table's name such as [power]";
  }
  return {};
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view problem = problem_of(line);
    if (!problem.empty()) throw UsageError(fmt::format("{}:{}: {}", file, number, problem));
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  } catch (const MalformedToml&) {
    throw UsageError(file + ": this is no TOML: look for brackets and braces that do not match");
  }
}

}  // namespace jitterscope::physics
