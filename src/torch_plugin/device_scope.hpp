// Sets the device, stream and memory pool on which PyTorch works while a scope lives.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "torch_plugin/torch_version.hpp"

#ifdef JITTERSCOPE_TORCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace jitterscope::torch_plugin {

/// Memory of one operation in CUDA's caching allocator. Each replay writes the memory that the operator
/// allocated while it was recorded, so nobody else may get it: another operation's tensors may be indices
/// that a kernel trusts. Does nothing on the host.
class MemoryPool {
 public:
  explicit MemoryPool(at::Device device);
  /// Returns memory that no tensor holds to the device itself.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  at::Device device() const { return device_; }
  /// Allocations on `stream` come from this pool until end().
  void begin(void* stream);
  void end();

 private:
  at::Device device_;
  unsigned long long number_ = 0;
  bool used_ = false;
};

/// Throws Refusal if this build cannot work on the device.
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

/// While it lives, an operator throws instead of waiting for a GPU.
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
