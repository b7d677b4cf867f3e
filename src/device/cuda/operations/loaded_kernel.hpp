// A kernel that NVRTC compiled, in the GPU's memory.
#pragma once

#include <string>

#include "device/compiler/shared_kernels.hpp"
#include "device/cuda/context.hpp"

namespace jitterscope::cuda {

/// 90 for compute capability 9.0.
int architecture_of(const Context& context);

/// Loaded completely: at its first launch it would wait for an open gate. The context is current when it is
/// made and when it goes.
class LoadedKernel {
 public:
  /// `name` is for messages; `optimize` for PTX, which the driver compiles here.
  LoadedKernel(const CompiledKernel& kernel, const std::string& name,
               std::int64_t optimize = kFullOptimization);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  CUfunction function() const { return function_; }
  int attribute(CUfunction_attribute which) const;

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace jitterscope::cuda
