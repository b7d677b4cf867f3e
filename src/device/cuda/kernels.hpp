// jitterscope's own kernels in one context, with typed launches.
#pragma once

#include <cstddef>
#include <span>

#include <array>
#include <cstdint>

#include <cuda.h>

#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// The fat binary that nvcc made of kernels.cu, embedded at build time.
std::span<const std::byte> kernels_binary();

/// Result of a clock stamp: both counters read back to back on SM 0; zeros until then.
struct ClockSample {
  std::uint64_t cycles, nanoseconds;
};

/// Flags of a load, in device memory.
struct LoadFlags {
  std::uint32_t started, stopped;
};

/// Kernels that every run needs; those of layers are in LayerKernels. The constructor loads all of them: a
/// kernel that loads lazily in a held queue waits until the GPU is idle, which happens only when the hold
/// times out. The context must be current throughout.
class Kernels {
 public:
  explicit Kernels(const Context& context);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Holds the stream until the word at `opened` is at least `ticket`. After `limit` it writes the ticket to
  /// `timed_out` and ends.
  void hold(CUstream, CUdeviceptr opened, CUdeviceptr timed_out, std::uint32_t ticket,
            Nanoseconds limit) const;
  /// `claim` is a word of device memory per slot; `ticket` must differ from the slot's last one.
  void stamp_clock(CUstream, CUdeviceptr sample, CUdeviceptr claim, std::uint32_t ticket) const;
  void empty(CUstream) const;
  void spin(CUstream, const Spin& spin) const;
  /// Fills all processors with blocks for about `time` or until `flags.stopped` is set; sets `flags.started`.
  void load(CUstream, CUdeviceptr flags, Nanoseconds time) const;
  /// Holds the stream until a load has started, for at most 1 ms.
  void await_load(CUstream, CUdeviceptr flags) const;
  void evict_write(CUstream, const MemoryRegion& buffer) const;
  /// Reads a buffer that evict_write has written.
  void evict_read(CUstream, const MemoryRegion& buffer) const;
  /// Reads and writes back every byte of a region that is aligned to 16 bytes.
  void touch(CUstream, const MemoryRegion& region) const;
  /// `size` must be a multiple of 4, addresses aligned to 16 bytes; either may be mapped host memory.
  void copy(CUstream, CUdeviceptr to, CUdeviceptr from, Bytes size) const;
  /// Fills with the values that the operand asks for: any, non-negative, or indices.
  void fill_random(CUstream, CUdeviceptr out, const Operand& operand, const InputData& data) const;
  void to_double(CUstream, CUdeviceptr out, CUdeviceptr in, DataType, std::int64_t count) const;

 private:
  static constexpr std::size_t kStorageTypes = 4;  // f64, f32 (tf32 too), f16, bf16
  using PerType = std::array<CUfunction, kStorageTypes>;

  CUfunction find(const char* name) const;
  PerType find_per_type(const char* name) const;
  /// Returns the number of blocks for `work` threads, at most as many as fill the GPU.
  unsigned blocks_for(std::int64_t work) const;

  int processors_;
  int blocks_per_processor_;
  CUmodule module_;
  CUfunction gate_, stamp_clock_, empty_, spin_nanoseconds_, spin_cycles_, evict_write_, evict_read_, touch_,
      load_, await_load_, copy_;
  std::array<CUfunction, 2> random_indices_{}, indices_to_double_{};  // for i64 and i32
  PerType fill_random_, to_double_;
};

// Loading jitterscope's own kernels from their embedded binaries.

/// Loads it into the current context. Throws MissingError with a remedy if this GPU or its driver cannot run
/// the binary.
CUmodule load_module(const void* binary);

/// Returns a kernel that is loaded already, so that its first launch loads nothing.
CUfunction find_function(CUmodule module, const char* name);

/// Launches a kernel of one-dimensional blocks, with arguments of its parameters' types.
template <class... Arguments>
void launch_kernel(CUfunction function, unsigned blocks, unsigned threads, CUstream stream,
                   Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};  // never empty, which C++ forbids
  check(driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr),
        "launching a kernel of jitterscope");
}

}  // namespace jitterscope::cuda
