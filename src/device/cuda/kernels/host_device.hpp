// Index arithmetic that kernels and the host share, so that it can be tested without a GPU.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define JITTERSCOPE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define JITTERSCOPE_HOST_DEVICE inline
#endif

namespace jitterscope::cuda {

/// Threads of a block, where a kernel's work does not call for another number.
inline constexpr unsigned kBlockThreads = 256;
/// Vectors that a thread of a fill writes.
inline constexpr int kFillVectors = 4;
/// The most threads that share a row.
inline constexpr unsigned kMostRowThreads = 512;

/// Division by a number known at launch. A GPU has no instruction for it: the compiler's sequence is about 20
/// for 32 bits and 70 for 64, these are 3 (Granlund and Montgomery, 1994).
struct FastDivisor {
  std::uint64_t divisor = 1;
  std::uint32_t multiplier = 1, shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(std::int64_t by) : divisor(static_cast<std::uint64_t>(by)) {
    if (divisor >= (std::uint64_t{1} << 31)) return;
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t rest = (std::uint64_t{1} << shift) - divisor;
    multiplier = static_cast<std::uint32_t>((rest << 32) / divisor + 1);
  }

  JITTERSCOPE_HOST_DEVICE std::uint64_t quotient(std::uint64_t n) const {
    if ((n | divisor) >> 31 != 0) return n / divisor;
    const auto narrow = static_cast<std::uint32_t>(n);
#ifdef __CUDA_ARCH__
    const std::uint32_t high = __umulhi(narrow, multiplier);
#else
    const auto high = static_cast<std::uint32_t>((n * multiplier) >> 32);
#endif
    return (high + narrow) >> shift;
  }
  /// Leaves the quotient in `n` and gives the remainder.
  JITTERSCOPE_HOST_DEVICE std::uint64_t split(std::uint64_t& n) const {
    const std::uint64_t whole = quotient(n);
    const std::uint64_t rest = n - whole * divisor;
    n = whole;
    return rest;
  }
};

}  // namespace jitterscope::cuda
