#include <fmt/format.h>

#include <cmath>

#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

bool is_multiple(Hertz clock, Hertz step) { return std::abs(clock / step - std::round(clock / step)) < 1e-6; }

// A GPU that changes faster would be simulated step by step for hours.
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

}  // namespace jitterscope::physics
