// Hardware counters of NVIDIA's GPUs, by CUPTI's Range Profiler.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "jitterscope/counters.hpp"

namespace jitterscope::cuda {

/// The names of one GPU in the driver and in CUPTI.
struct CountedGpu {
  CUcontext context = nullptr;
  CUdevice device = 0;
  int ordinal = 0;
};

/// Lists the counters of a chip, such as GH100, that need not be here. Throws UsageError for an unknown chip.
std::vector<Counter> list_chip_counters(const std::string& chip);

std::vector<Counter> list_gpu_counters(const CountedGpu& gpu);

/// Throws UsageError if the GPU lacks one of the counters; does nothing if that cannot be known yet. Removes
/// CUPTI's hooks from the driver before it returns, so that times may follow.
void check_gpu_counters(const CountedGpu& gpu, const std::vector<std::string>& names);

/// The profiler is enabled only during a reading; its hooks are removed with the reader. Throws as
/// Device::count does.
std::unique_ptr<CounterReader> count_gpu_launches(const CountedGpu& gpu,
                                                  const std::vector<std::string>& names);

}  // namespace jitterscope::cuda
