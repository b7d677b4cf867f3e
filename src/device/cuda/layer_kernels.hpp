// The kernels of layers: modules that are loaded when an operation first needs them, since most runs need
// none.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>

#include "device/cuda/kernel_plan.hpp"

namespace jitterscope::cuda {

class Context;

/// Needs the context current throughout.
class LayerKernels {
 public:
  explicit LayerKernels(const Context& context) : context_(context) {}
  ~LayerKernels();
  LayerKernels(const LayerKernels&) = delete;
  LayerKernels& operator=(const LayerKernels&) = delete;

  /// Loaded entirely: a kernel that loads at its first launch would wait behind a closed gate.
  CUfunction find(const KernelName& kernel) const;
  /// Ready to be launched with so much shared memory.
  CUfunction find(const KernelName& kernel, Bytes shared) const;
  /// As KernelPlan's.
  std::int64_t resident_blocks(const KernelName& kernel, unsigned threads, Bytes shared) const;
  Bytes largest_shared_memory(const KernelName& kernel) const;
  std::int64_t cluster_blocks(const KernelName& kernel) const;

 private:
  CUmodule module_of(KernelFile file) const;

  const Context& context_;
  mutable std::mutex mutex_;
  mutable std::map<KernelFile, CUmodule> modules_;
};

}  // namespace jitterscope::cuda
