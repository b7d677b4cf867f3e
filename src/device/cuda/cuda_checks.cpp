#include "device/cuda/cuda_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/names.hpp"

namespace jitterscope::cuda {
namespace {

using Status = Check::Status;

std::string property(const DeviceDescription& description, std::string_view key) {
  for (const Property& each : description.properties) {
    if (each.key == key) return each.value;
  }
  return "unknown";
}

Check check_driver(const DeviceDescription& description) {
  return {"driver", Status::good,
          fmt::format("{}: driver {}, CUDA {}, compute capability {}", description.name,
                      property(description, "driver_version"), property(description, "cuda_driver"),
                      property(description, "compute_capability")),
          ""};
}

Check check_library(const LibraryInfo& library) {
  if (library.problem.empty()) {
    return {library.name, Status::good,
            fmt::format("{} {} ({})", library.name, library.version, library.path), ""};
  }
  std::string remedy = "install it, or name its folder in JITTERSCOPE_LIBRARY_PATH";
  if (library.name == "nvml")
    remedy = "install the driver's NVML (libnvidia-ml.so.1); in a container pass it through";
  return {library.name, Status::missing, fmt::format("{} cannot be used: {}", library.name, library.problem),
          remedy};
}

Check check_clock_lock() {
  // Whether NVML would refuse cannot be known without trying, and trying changes the clock.
  const bool root = geteuid() == 0;
  return {"clock locking", root ? Status::good : Status::limits,
          fmt::format("only root may lock clocks; you are {}root", root ? "" : "not "),
          root ? ""
               : "not needed: the clock of each round is measured, and the time at reference clock is given"};
}

Check check_counters() {
  std::ifstream parameters("/proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (!line.starts_with("RmProfilingAdminOnly:")) continue;
    if (line.ends_with("0"))
      return {"hardware counters", Status::good, "hardware counters are open to all users", ""};
    return {"hardware counters", Status::limits, "hardware counters are for administrators only",
            "an administrator can set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module"};
  }
  return {"hardware counters", Status::limits,
          "whether counters may be read is unknown: no /proc/driver/nvidia/params", ""};
}

Check check_persistence(const NvmlDevice& nvml) {
  const auto on = nvml.persistence();
  if (!on) return {"persistence", Status::limits, "NVML does not tell the persistence mode", ""};
  if (*on) return {"persistence", Status::good, "persistence mode is on", ""};
  return {"persistence", Status::limits,
          "persistence mode is off: the driver unloads between programs, and first calls are slow",
          "an administrator can run nvidia-smi -pm 1 or nvidia-persistenced"};
}

Check check_processes(const std::optional<std::vector<std::string>>& others) {
  if (!others) return {"other processes", Status::limits, "whether others use this GPU cannot be known", ""};
  if (others->empty()) return {"other processes", Status::good, "no other process uses this GPU", ""};
  return {"other processes", Status::limits, fmt::format("others use this GPU: {}", joined(*others)),
          "end them, or take another GPU: while they run, times contain theirs"};
}

Check check_power(const NvmlDevice& nvml) {
  const auto limit = nvml.power_limit();
  const auto usual = nvml.default_power_limit();
  const std::string watts = limit ? fmt::format("{:.0f} W", limit->value()) : "unknown";
  if (limit && usual && limit->value() < usual->value() - 0.5) {
    return {"power cap", Status::limits,
            fmt::format("the power limit is {}, below the default of {:.0f} W", watts, usual->value()),
            "compare only with runs at the same limit; an administrator can raise it (nvidia-smi -pl)"};
  }
  std::vector<std::string> reasons = nvml.clock_reasons();
  std::erase(reasons, "idle");
  if (!reasons.empty()) {
    return {"power cap", Status::limits, fmt::format("the clock is held down now by: {}", joined(reasons)),
            "see what else runs, the cooling and the power limit"};
  }
  return {"power cap", Status::good, fmt::format("power limit {}, nothing holds the clock down now", watts),
          ""};
}

Check check_ecc(const NvmlDevice& nvml) {
  const auto on = nvml.ecc();
  const std::string text = !on ? "this GPU does not tell its ECC mode" : *on ? "ECC is on" : "ECC is off";
  return {"ECC", Status::good, text, ""};
}

Check check_mig(const NvmlDevice& nvml) {
  if (!nvml.mig().value_or(false)) return {"MIG", Status::good, "the GPU is not split (MIG off)", ""};
  return {"MIG", Status::limits, "the GPU is split (MIG on): other parts share its power and clock",
          "compare only with runs in the same MIG profile"};
}

Check check_virtualisation(const NvmlDevice& nvml) {
  const std::string mode = nvml.virtualisation().value_or("unknown");
  if (mode == "vgpu") {
    return {"virtualisation", Status::limits,
            "this is a share of a GPU (vGPU): other guests take time slices", "measure on a whole GPU"};
  }
  return {"virtualisation", Status::good, fmt::format("GPU virtualisation: {}", mode), ""};
}

}  // namespace

std::vector<Check> check_gpu(const GpuState& state) {
  std::vector<Check> checks = {check_driver(state.description)};
  for (const LibraryInfo& library : state.description.libraries) checks.push_back(check_library(library));
  checks.push_back(check_clock_lock());
  checks.push_back(check_counters());
  checks.push_back(check_processes(state.other_processes));
  if (!state.nvml) return checks;
  checks.push_back(check_persistence(*state.nvml));
  checks.push_back(check_power(*state.nvml));
  checks.push_back(check_ecc(*state.nvml));
  checks.push_back(check_mig(*state.nvml));
  checks.push_back(check_virtualisation(*state.nvml));
  return checks;
}

}  // namespace jitterscope::cuda
