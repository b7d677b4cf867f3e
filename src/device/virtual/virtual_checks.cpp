#include "device/virtual/virtual_checks.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using Status = Check::Status;

constexpr const char* kRemedy = "take another preset, or a changed copy of this one";

Check check_sensors(const physics::Sensors& sensors) {
  std::vector<std::string> withheld;
  const auto note = [&](bool given, const char* name) {
    if (!given) withheld.emplace_back(name);
  };
  note(sensors.clock, "clock");
  note(sensors.power, "power");
  note(sensors.temperature, "temperature");
  note(sensors.energy, "energy");
  note(sensors.throttle_counters, "time throttled");
  if (withheld.empty()) return {"sensors", Status::good, "all sensors may be read", ""};
  return {"sensors", Status::limits, fmt::format("this preset withholds: {}", joined(withheld)), kRemedy};
}

Check check_clock_lock(const physics::Sensors& sensors) {
  if (sensors.may_lock_clocks) return {"clock locking", Status::good, "clocks may be locked", ""};
  return {"clock locking", Status::limits, "this preset lets nobody lock clocks",
          "not needed: the clock of each round is measured, and the time at reference clock is given"};
}

Check check_power(const physics::Parameters& parameters) {
  const bool has_cap = parameters.power.cap > Watts(0) && parameters.has(physics::Mechanism::power_cap);
  return {"power cap", Status::good,
          has_cap ? fmt::format("power limit {}", power_text(parameters.power.cap)) : "no power limit", ""};
}

Check check_processes(const std::vector<std::string>& others) {
  if (others.empty()) return {"other processes", Status::good, "no other process uses this GPU", ""};
  return {"other processes", Status::limits, fmt::format("others use this GPU: {}", joined(others)),
          "none on a simulated GPU but another preset: while they run, times contain theirs"};
}

Check check_mechanisms(const physics::Parameters& parameters) {
  std::vector<std::string> off;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    if (parameters.off[i]) off.emplace_back(to_string(static_cast<physics::Mechanism>(i)));
  }
  if (off.empty()) return {"mechanisms", Status::good, "every cause of variation is simulated", ""};
  return {"mechanisms", Status::limits, fmt::format("switched off: {}", joined(off)),
          "leave out ',without=' to have them"};
}

}  // namespace

std::vector<Check> check_virtual_gpu(const physics::Parameters& parameters,
                                     const std::vector<std::string>& other_processes) {
  return {{"simulation", Status::limits,
           fmt::format("{} is simulated: its numbers say nothing about a real GPU", parameters.identity.name),
           "take --device cuda or cpu to measure hardware"},
          check_sensors(parameters.sensors),
          check_clock_lock(parameters.sensors),
          check_power(parameters),
          check_processes(other_processes),
          check_mechanisms(parameters)};
}

}  // namespace jitterscope::virtual_gpu
