// Who else uses the GPU.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/nvml.hpp"

namespace jitterscope::cuda {

/// All but this process, as "pid name". This process holds a context, so NVML lists it; where its pid is not
/// among them (NVML tells pids of the host, a container has its own) one entry that could be it is left out.
std::vector<std::string> others_among(std::vector<GpuProcess> processes, unsigned own_pid);

}  // namespace jitterscope::cuda
