// Memory of the GPU for a moment, as a program takes it around a launch.
#pragma once

#include <cuda.h>

#include "device/cuda/context.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// By cuMemAlloc and cuMemFree, which waits for all that the GPU does.
class DriverMemory final : public TemporaryMemory {
 public:
  DriverMemory(const Context& context, Bytes size) : context_(context), memory_(size) {}
  ~DriverMemory() override { context_.make_current(); }

 private:
  const Context& context_;
  DeviceMemory memory_;
};

/// By cuMemAllocAsync and cuMemFreeAsync of the GPU's own pool, in stream order. As the pool is by default,
/// it gives what is free back to the driver at each synchronization.
class PooledMemory final : public TemporaryMemory {
 public:
  /// Throws UsageError where the GPU has no such pool.
  PooledMemory(const Context& context, CUstream stream, Bytes size);
  ~PooledMemory() override;
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;

 private:
  const Context& context_;
  CUstream stream_;
  CUdeviceptr address_ = 0;
};

}  // namespace jitterscope::cuda
