// Facts that the operating system gives about this CPU, read from files below one root, so that tests can
// supply a machine of their own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cpu {

struct MachineFacts {
  std::string model;                 ///< "Intel(R) Xeon(R) Processor"
  int cores = 1;                     ///< allowed by the affinity mask
  std::optional<double> core_quota;  ///< the control group's, in cores
  Bytes memory_total, memory_free;   ///< within the control group's limit
  Bytes last_level_cache;            ///< zero if unknown
  std::optional<Hertz> maximum_clock;
  std::string governor;  ///< empty if the kernel has no cpufreq
  std::optional<bool> turbo, simultaneous_threads;
  bool hypervisor = false;
  std::optional<double> steal_share;  ///< stolen share of CPU time since boot
  std::optional<int> perf_paranoid;
  std::optional<double> load_average;  ///< over one minute
};

MachineFacts read_machine(const std::filesystem::path& root = "/");
/// Memory that can still be allocated, in the machine and in the control group.
Bytes available_memory(const std::filesystem::path& root = "/");
std::optional<Hertz> current_clock(const std::filesystem::path& root = "/");
std::optional<Celsius> current_temperature(const std::filesystem::path& root = "/");

// Checks of what limits precision on this CPU.

/// Cores within the affinity mask and the control group's quota, at least one.
int usable_cores(const MachineFacts& machine);
std::vector<Check> checks_of(const MachineFacts& machine, const std::vector<LibraryInfo>& libraries);

}  // namespace jitterscope::cpu
