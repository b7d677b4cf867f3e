// What this machine allows on a GPU, and what limits precision: the lines of `doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/cuda/nvml.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// What the checks look at, read beforehand.
struct GpuState {
  const DeviceDescription& description;
  const std::optional<NvmlDevice>& nvml;
  std::string nvml_problem;
  std::optional<std::vector<std::string>> other_processes;
};

std::vector<Check> check_gpu(const GpuState& state);

}  // namespace jitterscope::cuda
