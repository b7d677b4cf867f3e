// The device, stream and memory pool on which PyTorch works while a scope lives.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "torch_plugin/torch_version.hpp"

#ifdef JITTERSCOPE_TORCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace jitterscope::torch_plugin {

/// Memory of one operation in CUDA's caching allocator. What an operator allocates while it is recorded is
/// written by each replay, so it must go to nobody else: tensors of another operation among them indices that
/// a kernel trusts. Nothing on the host.
class MemoryPool {
 public:
  explicit MemoryPool(at::Device device);
  /// Gives back what no tensor holds, to the device itself.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  at::Device device() const { return device_; }
  /// Allocations on `stream` come from here until end().
  void begin(void* stream);
  void end();

 private:
  at::Device device_;
  unsigned long long number_ = 0;
  bool used_ = false;
};

/// Throws Refusal where this build cannot work on the device.
void require_device(at::Device device);

class DeviceScope {
 public:
  DeviceScope(MemoryPool& pool, void* stream);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  bool is_recording() const;
  void wait() const;

 private:
  MemoryPool& pool_;
#ifdef JITTERSCOPE_TORCH_CUDA
  std::optional<c10::cuda::CUDAStream> stream_;
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
#endif
};

/// While it lives, an operator that waits for a GPU throws instead.
class RefuseToWait {
 public:
  explicit RefuseToWait(at::Device device);
  ~RefuseToWait();
  RefuseToWait(const RefuseToWait&) = delete;
  RefuseToWait& operator=(const RefuseToWait&) = delete;

 private:
  bool on_gpu_;
  int former_ = 0;
};

}  // namespace jitterscope::torch_plugin
