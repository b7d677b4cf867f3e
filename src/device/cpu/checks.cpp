#include "device/cpu/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/cycle_counter.hpp"

namespace jitterscope::cpu {
namespace {

using Status = Check::Status;

Check governor(const MachineFacts& machine) {
  if (machine.governor.empty()) {
    return {"cpu governor", Status::limits,
            "the kernel shows no frequency scaling: the clock is set by the host or the firmware",
            "read each round's clock, and repeat where it moved"};
  }
  if (machine.governor == "performance")
    return {"cpu governor", Status::good, "the governor is 'performance'", ""};
  return {"cpu governor", Status::limits,
          fmt::format(
              "the governor is '{}': the clock follows the load, and the first launches after idle are slow",
              machine.governor),
          "as root: cpupower frequency-set -g performance"};
}

Check turbo(bool on) {
  if (!on) return {"cpu turbo", Status::good, "turbo is off: the clock does not depend on temperature", ""};
  return {"cpu turbo", Status::limits,
          "turbo is on: the clock depends on how many cores work and how warm they are",
          "as root: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
          "/sys/devices/system/cpu/cpufreq/boost"};
}

Check simultaneous_threads(bool on) {
  if (!on) return {"cpu threads per core", Status::good, "each core runs one thread", ""};
  return {"cpu threads per core", Status::limits,
          "each core runs two threads: a neighbour takes part of its units and caches",
          "as root: echo off > /sys/devices/system/cpu/smt/control, or bind with taskset to one thread of "
          "each core"};
}

Check virtualisation(const MachineFacts& machine) {
  if (!machine.hypervisor) return {"cpu virtualisation", Status::good, "no hypervisor is seen", ""};
  const double steal = machine.steal_share.value_or(0.0);
  return {"cpu virtualisation", Status::limits,
          fmt::format(
              "this is a virtual machine: its clock is the host's choice, other guests share its caches, and "
              "{:.2f} % of its time since boot was taken by others",
              steal * 100),
          "measure on the bare machine where results must hold to 1 %"};
}

Check perf_events(const MachineFacts& machine) {
  if (CycleCounter().source() == "perf_events") {
    return {"cpu cycle counter", Status::good, "cycles are counted by perf events", ""};
  }
  const bool refused = machine.perf_paranoid.value_or(0) > 2;
  const std::string reason = refused ? fmt::format("kernel.perf_event_paranoid is {}", *machine.perf_paranoid)
                                     : "this machine offers no cycle counter, or the container forbids it";
  return {"cpu cycle counter", Status::limits,
          reason +
              ": the clock is read by timing known cycles, about 40 us at each end of a round, and not in "
              "between",
          refused ? "as root: sysctl kernel.perf_event_paranoid=2" : ""};
}

Check quota(const MachineFacts& machine) {
  if (!machine.core_quota) return {"cpu quota", Status::good, "no control group limits the CPU time", ""};
  const bool enough = *machine.core_quota >= machine.cores;
  return {
      "cpu quota", enough ? Status::good : Status::limits,
      fmt::format("the container may use {:g} cores' time on {} cores{}", *machine.core_quota, machine.cores,
                  enough ? "" : ": it is stopped for the rest of each period once that is spent"),
      enough
          ? ""
          : fmt::format("set OMP_NUM_THREADS={}, or raise the container's CPU limit", usable_cores(machine))};
}

Check load(double average) {
  // Half a core: less is the noise of system services.
  if (average < 0.5)
    return {"cpu load", Status::good, fmt::format("the load average is {:.2f}", average), ""};
  return {"cpu load", Status::limits,
          fmt::format("the load average of the last minute is {:.2f}: other work, or what just ended here, "
                      "uses the cores",
                      average),
          "stop other programs, and wait a minute"};
}

Check library(const LibraryInfo& found) {
  if (!found.problem.empty())
    return {found.name, Status::missing, found.problem, found.name == "onednn" ? "install libdnnl" : ""};
  return {found.name, Status::good, fmt::format("{} {} from {}", found.name, found.version, found.path), ""};
}

}  // namespace

int usable_cores(const MachineFacts& machine) {
  const double quota = std::floor(machine.core_quota.value_or(machine.cores));
  return std::max(1, std::min(machine.cores, static_cast<int>(quota)));
}

std::vector<Check> checks_of(const MachineFacts& machine, const std::vector<LibraryInfo>& libraries) {
  std::vector<Check> checks = {governor(machine)};
  if (machine.turbo) checks.push_back(turbo(*machine.turbo));
  if (machine.simultaneous_threads) checks.push_back(simultaneous_threads(*machine.simultaneous_threads));
  checks.push_back(virtualisation(machine));
  checks.push_back(perf_events(machine));
  checks.push_back(quota(machine));
  if (machine.load_average) checks.push_back(load(*machine.load_average));
  for (const LibraryInfo& found : libraries) checks.push_back(library(found));
  return checks;
}

}  // namespace jitterscope::cpu
