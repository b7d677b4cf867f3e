#include "device/cpu/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "device/cpu/cpu_device.hpp"

namespace jitterscope::cpu {

/// First line without its end; nullopt if the file cannot be read.
std::optional<std::string> read_line(const std::filesystem::path& file);
std::optional<double> read_number(const std::filesystem::path& file);
/// Reads "key : value" or "key: value" lines, as in cpuinfo and meminfo. A key's first value counts.
std::map<std::string, std::string> read_pairs(const std::filesystem::path& file);
/// Returns a controller's control group folder and all its parents, innermost first. Version 2 has one tree
/// for all controllers; version 1 has one tree each.
std::vector<std::filesystem::path> control_group_folders(const std::filesystem::path& root,
                                                         const std::string& controller);

namespace {

namespace fs = std::filesystem;

// Reads "24383288 kB" and returns bytes.
std::optional<Bytes> kilobytes(const std::map<std::string, std::string>& pairs, const std::string& key) {
  const auto found = pairs.find(key);
  if (found == pairs.end()) return std::nullopt;
  std::int64_t value = 0;
  if (!(std::istringstream(found->second) >> value)) return std::nullopt;
  return Bytes(value * 1024);
}

int count_of_allowed_cores() {
  const std::size_t allowed = allowed_cores().size();
  return static_cast<int>(allowed > 0 ? allowed : std::max(1U, std::thread::hardware_concurrency()));
}

std::optional<double> core_quota(const fs::path& root) {
  std::optional<double> least;
  const auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0) least = std::min(least.value_or(quota / period), quota / period);
  };
  for (const fs::path& folder : control_group_folders(root, "cpu")) {
    if (const auto line = read_line(folder / "cpu.max")) {
      double quota = 0, period = 0;
      if (std::istringstream(*line) >> quota >> period) consider(quota, period);  // "max 100000" is no quota
    }
    const auto quota = read_number(folder / "cpu.cfs_quota_us");
    const auto period = read_number(folder / "cpu.cfs_period_us");
    if (quota && period) consider(*quota, *period);  // -1: no quota
  }
  return least;
}

struct MemoryLimit {
  double limit = INFINITY, left = INFINITY;
};

// File cache that the kernel would give up. It counts as used, so a container that has read large files would
// look full without it.
double reclaimable(const fs::path& folder) {
  std::ifstream stream(folder / "memory.stat");
  double own = 0, with_children = 0, value = 0;
  for (std::string key; stream >> key >> value;) {
    if (key == "inactive_file" || key == "active_file") own += value;
    if (key == "total_inactive_file" || key == "total_active_file") with_children += value;  // version 1
  }
  return std::max(own, with_children);
}

// Returns the tightest limit of this process's control groups. Version 1 writes 2^63 less a page for none.
MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit tightest;
  const auto consider = [&](const fs::path& folder, const char* limit_file, const char* usage_file) {
    const auto limit = read_number(folder / limit_file);
    const auto usage = read_number(folder / usage_file);
    if (!limit || *limit <= 0) return;
    tightest.limit = std::min(tightest.limit, *limit);
    const double left = *limit - usage.value_or(0) + reclaimable(folder);
    tightest.left = std::min(tightest.left, std::clamp(left, 0.0, *limit));
  };
  for (const fs::path& folder : control_group_folders(root, "memory")) {
    consider(folder, "memory.max", "memory.current");
    consider(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
  }
  return tightest;
}

Bytes within(Bytes amount, double limit) {
  return limit < static_cast<double>(amount.value()) ? Bytes(static_cast<std::int64_t>(limit)) : amount;
}

Bytes last_level_cache(const fs::path& root) {
  std::int64_t largest = 0;
  std::error_code error;
  for (const auto& index : fs::directory_iterator(root / "sys/devices/system/cpu/cpu0/cache", error)) {
    const std::optional<std::string> size = read_line(index.path() / "size");
    std::int64_t value = 0;
    char unit = 0;
    if (!size || !(std::istringstream(*size) >> value)) continue;
    std::istringstream(*size) >> value >> unit;
    const std::int64_t scale = unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    largest = std::max(largest, value * scale);
  }
  return Bytes(largest);
}

std::optional<bool> turbo(const fs::path& cpus) {
  if (const auto off = read_number(cpus / "intel_pstate/no_turbo")) return *off == 0;
  if (const auto on = read_number(cpus / "cpufreq/boost")) return *on != 0;
  return std::nullopt;
}

std::optional<double> steal_share(const fs::path& root) {
  const std::optional<std::string> line = read_line(root / "proc/stat");
  if (!line) return std::nullopt;
  // Fields: cpu user nice system idle iowait irq softirq steal …
  std::istringstream fields(*line);
  std::string name;
  fields >> name;
  double sum = 0, value = 0, steal = 0;
  for (int i = 0; i < 8 && fields >> value; ++i) {
    sum += value;
    if (i == 7) steal = value;
  }
  if (sum <= 0) return std::nullopt;
  return steal / sum;
}

std::optional<Hertz> kilohertz(const fs::path& file) {
  const auto value = read_number(file);
  if (!value) return std::nullopt;
  return Hertz(*value * 1e3);
}

void read_cpuinfo(MachineFacts& facts, const fs::path& root) {
  const auto pairs = read_pairs(root / "proc/cpuinfo");
  // AArch64 has no model name; its part number stands for it.
  const auto model = pairs.find("model name");
  const auto part = pairs.find("CPU part");
  if (model != pairs.end()) {
    facts.model = model->second;
  } else if (part != pairs.end()) {
    facts.model = "CPU part " + part->second;
  }
  const auto flags = pairs.find("flags");
  if (flags != pairs.end())
    facts.hypervisor = (' ' + flags->second + ' ').find(" hypervisor ") != std::string::npos;
}

}  // namespace

MachineFacts read_machine(const fs::path& root) {
  MachineFacts facts;
  read_cpuinfo(facts, root);
  facts.cores = count_of_allowed_cores();
  facts.core_quota = core_quota(root);
  const auto memory = read_pairs(root / "proc/meminfo");
  facts.memory_total = within(kilobytes(memory, "MemTotal").value_or(Bytes(0)), memory_limit(root).limit);
  facts.memory_free = available_memory(root);
  facts.last_level_cache = last_level_cache(root);
  const fs::path cpus = root / "sys/devices/system/cpu";
  facts.maximum_clock = kilohertz(cpus / "cpu0/cpufreq/cpuinfo_max_freq");
  facts.governor = read_line(cpus / "cpu0/cpufreq/scaling_governor").value_or("");
  facts.turbo = turbo(cpus);
  if (const auto active = read_number(cpus / "smt/active")) facts.simultaneous_threads = *active != 0;
  facts.steal_share = steal_share(root);
  if (const auto level = read_number(root / "proc/sys/kernel/perf_event_paranoid")) {
    facts.perf_paranoid = static_cast<int>(*level);
  }
  facts.load_average = read_number(root / "proc/loadavg");
  return facts;
}

Bytes available_memory(const fs::path& root) {
  const auto memory = read_pairs(root / "proc/meminfo");
  return within(kilobytes(memory, "MemAvailable").value_or(Bytes(0)), memory_limit(root).left);
}

std::optional<Hertz> current_clock(const fs::path& root) {
  return kilohertz(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
}

std::optional<Celsius> current_temperature(const fs::path& root) {
  std::error_code error;
  for (const auto& monitor : fs::directory_iterator(root / "sys/class/hwmon", error)) {
    const std::string name = read_line(monitor.path() / "name").value_or("");
    if (name != "coretemp" && name != "k10temp" && name != "zenpower" && name != "cpu_thermal") continue;
    if (const auto value = read_number(monitor.path() / "temp1_input")) return Celsius(*value / 1e3);
  }
  return std::nullopt;
}

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
  // Half a core: below is the noise of system services.
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

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool lists(const std::string& names, const std::string& name) {
  std::istringstream entries(names);
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (entry == name) return true;
  }
  return false;
}

void add_with_parents(std::vector<fs::path>& folders, const fs::path& mount, const std::string& group) {
  fs::path relative = fs::path(group).relative_path();
  while (!relative.empty()) {
    folders.push_back(mount / relative);
    relative = relative.parent_path();
  }
  folders.push_back(mount);
}

}  // namespace

std::optional<std::string> read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

std::optional<double> read_number(const fs::path& file) {
  const std::optional<std::string> line = read_line(file);
  if (!line) return std::nullopt;
  double value = 0.0;
  const std::from_chars_result result = std::from_chars(line->data(), line->data() + line->size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::map<std::string, std::string> read_pairs(const fs::path& file) {
  std::ifstream stream(file);
  std::map<std::string, std::string> pairs;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    pairs.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return pairs;
}

std::vector<fs::path> control_group_folders(const fs::path& root, const std::string& controller) {
  std::ifstream stream(root / "proc/self/cgroup");
  std::vector<fs::path> folders;
  // Lines are "hierarchy:controllers:group"; version 2 has no controllers.
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const fs::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) add_with_parents(folders, mounts, group);
    if (lists(controllers, controller)) add_with_parents(folders, mounts / controller, group);
  }
  return folders;
}

}  // namespace jitterscope::cpu
