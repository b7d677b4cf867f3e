// A kernel that NVRTC compiled, in the GPU's memory.
#pragma once

#include <string>

#include "device/cuda/context.hpp"
#include "device/cuda/nvrtc.hpp"

namespace jitterscope::cuda {

/// Compiled once in a process, and once in all processes of a command: compiling takes a third of a second,
/// and fresh data prepares the same kernel thousands of times. Throws as compile_kernel.
const CompiledKernel& compiled_kernel(const CompileRequest& request);

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
