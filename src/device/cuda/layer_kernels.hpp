// The kernels of layers: a module that is loaded when an operation first needs it, since most runs need none.
#pragma once

#include <cuda.h>

#include <mutex>
#include <string>

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
  CUfunction find(const std::string& name) const;

 private:
  const Context& context_;
  mutable std::mutex mutex_;
  mutable CUmodule module_ = nullptr;
};

}  // namespace jitterscope::cuda
