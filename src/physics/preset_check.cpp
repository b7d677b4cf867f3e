#include <fmt/format.h>

#include <cmath>

#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

bool is_multiple(Hertz clock, Hertz step) { return std::abs(clock / step - std::round(clock / step)) < 1e-6; }

/// The first contradiction, or empty.
std::string governor_problem(const Governor& governor) {
  if (governor.idle_clock > governor.maximum_clock) {
    return "[governor] idle_clock_mhz is above maximum_clock_mhz";
  }
  if (!is_multiple(governor.maximum_clock, governor.step) ||
      !is_multiple(governor.idle_clock, governor.step)) {
    return "[governor] maximum_clock_mhz and idle_clock_mhz must be multiples of step_mhz";
  }
  if (governor.maximum_clock / governor.step > 100'000) return "[governor] step_mhz is too small";
  return {};
}

std::string power_problem(const Parameters& parameters) {
  const Power& power = parameters.power;
  if (power.voltage_low > power.voltage_high) return "[power] voltage_low_v is above voltage_high_v";
  if (power.clock_low > parameters.governor.maximum_clock) {
    return "[power] clock_low_mhz is above [governor] maximum_clock_mhz";
  }
  if (power.cap > Watts(0) && power.cap <= power.idle) return "[power] cap_w is not above idle_w";
  if (power.peak_limit > Watts(0) && power.peak_limit <= power.idle) {
    return "[power] peak_limit_w is not above idle_w";
  }
  const double resistance = parameters.thermal.resistance_fast + parameters.thermal.resistance_slow;
  if (power.idle.value() * power.leakage * resistance >= 0.5) {
    return "[power] leakage_per_celsius and [thermal] resistances are so large that the idle GPU heats "
           "itself "
           "without end";
  }
  return {};
}

std::string other_problem(const Parameters& parameters) {
  const ClockStates& states = parameters.clock_states;
  const Nanoseconds none(0), shortest = microseconds(10);
  if (states.depth > 0 && std::min(states.mean_dwell_high, states.mean_dwell_low) < shortest) {
    return "[clock_states] with a depth needs dwells of at least 0.01 ms";
  }
  const Contention& contention = parameters.contention;
  if (contention.mean_on > none && std::min(contention.mean_on, contention.mean_off) < shortest) {
    return "[contention] mean_on_ms and mean_off_ms must be at least 0.01";
  }
  if (contention.time_slice > none && contention.time_slice < shortest) {
    return "[contention] time_slice_ms must be at least 0.01, or 0 for none";
  }
  if (parameters.noise.drift != 0 && parameters.noise.drift_time <= none) {
    return "[noise] drift needs a positive drift_time_s";
  }
  if (parameters.noise.period_amplitude > 0 && parameters.noise.period <= none) {
    return "[noise] period_amplitude needs a positive period_ms";
  }
  if (parameters.identity.name.empty()) return "[identity] name is empty";
  for (const DataType type : parameters.identity.data_types) {
    const Compute& compute = parameters.compute;
    const std::array<double, 5> rates = {compute.f64, compute.f32, compute.tf32, compute.f16, compute.bf16};
    if (rates.at(static_cast<std::size_t>(type)) <= 0) {
      return fmt::format("[compute] {0}_flops_per_cycle is 0, but [identity] data_types names {0}",
                         to_string(type));
    }
  }
  return {};
}

}  // namespace

void check_preset(const Parameters& parameters, const std::string& file) {
  for (const std::string& problem :
       {governor_problem(parameters.governor), power_problem(parameters), other_problem(parameters)}) {
    if (!problem.empty()) throw UsageError(file + ": " + problem);
  }
}

}  // namespace jitterscope::physics
