#include "device/cpu/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "device/cpu/system_files.hpp"

namespace jitterscope::cpu {
namespace {

namespace fs = std::filesystem;

// Kilobytes to bytes: "24383288 kB".
std::optional<Bytes> kilobytes(const std::map<std::string, std::string>& pairs, const std::string& key) {
  const auto found = pairs.find(key);
  if (found == pairs.end()) return std::nullopt;
  std::int64_t value = 0;
  if (!(std::istringstream(found->second) >> value)) return std::nullopt;
  return Bytes(value * 1024);
}

int allowed_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  // More CPUs than cpu_set_t has bits (1024).
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<double> core_quota(const fs::path& root) {
  std::optional<double> least;
  const auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0) least = std::min(least.value_or(quota / period), quota / period);
  };
  for (const fs::path& folder : control_group_folders(root, "cpu")) {
    if (const auto line = read_line(folder / "cpu.max")) {
      double quota = 0, period = 0;
      if (std::istringstream(*line) >> quota >> period) consider(quota, period);  // "max 100000" fails
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

// File cache that the kernel would give up: it counts as used, and a container that has read large
// files would look full without it.
double reclaimable(const fs::path& folder) {
  std::ifstream stream(folder / "memory.stat");
  double own = 0, with_children = 0, value = 0;
  for (std::string key; stream >> key >> value;) {
    if (key == "inactive_file" || key == "active_file") own += value;
    if (key == "total_inactive_file" || key == "total_active_file") with_children += value;  // version 1
  }
  return std::max(own, with_children);
}

// The tightest of the control groups around this process. Version 1 writes 2^63 less a page for "none".
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
  // cpu user nice system idle iowait irq softirq steal …
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
  // aarch64 has no model name; its implementer and part numbers stand for it.
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
  facts.cores = allowed_cores();
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

}  // namespace jitterscope::cpu
