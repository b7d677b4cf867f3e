// Hardware counters of NVIDIA's GPUs, by CUPTI's Range Profiler.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "jitterscope/counters.hpp"

namespace jitterscope::cuda {

/// What a GPU is to the driver and to CUPTI.
struct CountedGpu {
  CUcontext context = nullptr;
  CUdevice device = 0;
  int ordinal = 0;
};

/// Of a chip that need not be here: GH100. Throws as CounterHost does.
std::vector<Counter> list_chip_counters(const std::string& chip);

std::vector<Counter> list_gpu_counters(const CountedGpu& gpu);

/// Throws UsageError where one is not the GPU's. Silent where that cannot be known yet. Without
/// cuptiProfilerInitialize, which puts hooks into the driver, so that times may follow.
void check_gpu_counters(const CountedGpu& gpu, const std::vector<std::string>& names);

/// The profiler is enabled only while a reading lasts, and gone with the reader. Throws as Device::count
/// does.
std::unique_ptr<CounterReader> count_gpu_launches(const CountedGpu& gpu,
                                                  const std::vector<std::string>& names);

}  // namespace jitterscope::cuda
