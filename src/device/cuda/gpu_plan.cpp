#include "device/cuda/gpu_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/layer_kernels.hpp"

namespace jitterscope::cuda {

DeviceAddress GpuPlan::workspace(Bytes size) {
  const DeviceMemory& memory = workspaces_.emplace_back(size);
  check(driver().cuMemsetD8Async(memory.address(), 0, static_cast<std::size_t>(size.value()),
                                 context_.stream()),
        "clearing a workspace");
  return memory.address();
}

std::int64_t GpuPlan::resident_blocks(const KernelName& kernel, unsigned threads, Bytes shared) {
  return context_.layer_kernels().resident_blocks(kernel, threads, shared);
}

Bytes GpuPlan::largest_shared_memory(const KernelName& kernel) {
  return context_.layer_kernels().largest_shared_memory(kernel);
}

std::int64_t GpuPlan::cluster_blocks(const KernelName& kernel) {
  return context_.layer_kernels().cluster_blocks(kernel);
}

void GpuPlan::add_step(KernelStep step) {
  const CUfunction function = context_.layer_kernels().find(step.kernel, step.shared);
  steps_.push_back({.function = function, .kernel = std::move(step)});
}

void GpuPlan::run(CUstream stream) {
  for (Step& step : steps_) {
    if (step.zero) {
      check(driver().cuMemsetD8Async(step.zero->address, 0, static_cast<std::size_t>(step.zero->size.value()),
                                     stream),
            "clearing a sum");
    } else {
      check(driver().cuLaunchKernel(step.function, step.kernel->blocks, 1, 1, step.kernel->threads, 1, 1,
                                    static_cast<unsigned>(step.kernel->shared.value()), stream,
                                    step.kernel->arguments.data(), nullptr),
            step.kernel->kernel.name);
    }
  }
}

std::string GpuPlan::names() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) names.push_back(step.zero ? "memset" : step.kernel->kernel.name);
  return fmt::format("{}", fmt::join(names, "+"));
}

Bytes GpuPlan::workspace_size() const {
  Bytes size(0);
  for (const DeviceMemory& memory : workspaces_) size += memory.size();
  return size;
}

}  // namespace jitterscope::cuda
