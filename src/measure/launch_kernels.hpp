// Which kernels one launch runs, and how long each takes.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"
#include "measure/traced_launches.hpp"

namespace jitterscope {

/// Traces launches back to back, warm. Empty where the launch runs no kernel. Throws MissingError where the
/// device cannot be traced, FailedError where records were lost.
std::vector<LaunchKernel> trace_launch(Device& device, Queue& queue, Workload& workload);

/// Kernels of equal launches as those of one. Throws FailedError where one has more than another.
std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches);

}  // namespace jitterscope
