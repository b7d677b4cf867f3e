// Which kernels one launch runs, how long each takes, and how many run at once.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"
#include "measure/traced_launches.hpp"

namespace jitterscope {

/// Whether a gate may hold a launch until all of it is in the queue.
enum class Gating { possible, impossible };

struct TracedWork {
  std::vector<LaunchKernel> kernels;             ///< empty where the launch runs no kernel
  std::optional<KernelConcurrency> concurrency;  ///< nothing likewise
};

/// Traces launches back to back, warm. Where kernels are on several streams, how many run at once is traced
/// behind gates, if that is possible: else it would be how fast the host launches. Throws MissingError where
/// the device cannot be traced, FailedError where records were lost.
TracedWork trace_launch(Device& device, Queue& queue, Workload& workload, Gating gating);

/// Kernels of equal launches as those of one. Throws FailedError where one has more than another.
std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches);

}  // namespace jitterscope
