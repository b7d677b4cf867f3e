#include "device/cuda/layer_kernels.hpp"

#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"

// The binary of layer_kernels.cu, embedded by kernels_binary.S.
// NOLINTNEXTLINE(readability-identifier-naming): as the assembler has it
extern "C" const std::byte jitterscope_layer_kernels_begin[];

namespace jitterscope::cuda {

LayerKernels::~LayerKernels() {
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

CUfunction LayerKernels::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (module_ == nullptr) module_ = load_module(jitterscope_layer_kernels_begin);
  return find_function(module_, name.c_str());
}

namespace {

void clear(DeviceAddress address, Bytes size, CUstream stream) {
  check(driver().cuMemsetD8Async(address, 0, static_cast<std::size_t>(size.value()), stream),
        "setting memory to zero");
}

}  // namespace

DeviceAddress GpuPlan::workspace(Bytes size) {
  const DeviceMemory& memory = workspaces_.emplace_back(size);
  clear(memory.address(), size, context_.stream());
  return memory.address();
}

void GpuPlan::add_step(KernelStep step) {
  const CUfunction function = context_.layer_kernels().find(step.kernel);
  steps_.emplace_back(Launch{function, std::move(step)});
}

void GpuPlan::run(CUstream stream) {
  for (auto& step : steps_) {
    if (const auto* zero = std::get_if<ZeroStep>(&step)) {
      clear(zero->address, zero->size, stream);
    } else {
      auto& [function, kernel] = std::get<Launch>(step);
      check(driver().cuLaunchKernel(function, kernel.blocks, 1, 1, kernel.threads, 1, 1, 0, stream,
                                    kernel.arguments.data(), nullptr),
            kernel.kernel);
    }
  }
}

std::string GpuPlan::names() const {
  std::vector<std::string> names;
  for (const auto& step : steps_) {
    const auto* launch = std::get_if<Launch>(&step);
    names.push_back(launch == nullptr ? "memset" : launch->kernel.kernel);
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

Bytes GpuPlan::workspace_size() const {
  Bytes size(0);
  for (const DeviceMemory& memory : workspaces_) size += memory.size();
  return size;
}

}  // namespace jitterscope::cuda
