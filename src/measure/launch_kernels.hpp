// Which kernels one launch runs, and how long each takes.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Traces launches back to back, warm. Empty where the launch runs no kernel. Throws MissingError where the
/// device cannot be traced, FailedError where records were lost.
std::vector<LaunchKernel> trace_launch(Device& device, Queue& queue, Workload& workload);

/// Kernels of `launches` equal launches, one after the other, as those of one.
std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelTime>& traced, std::size_t launches);

}  // namespace jitterscope
