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

/// Elements of one 16-byte access: the widest that a thread has, and the one that memory is fastest with.
constexpr int elements_per_vector(int element_bytes) { return 16 / element_bytes; }

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
    return narrow_quotient(static_cast<std::uint32_t>(n));
  }
  /// Where both are known to be below 2^31, and nothing need ask.
  JITTERSCOPE_HOST_DEVICE std::uint32_t narrow_quotient(std::uint32_t n) const {
#ifdef __CUDA_ARCH__
    const std::uint32_t high = __umulhi(n, multiplier);
#else
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
#endif
    return (high + n) >> shift;
  }
  /// Leaves the quotient in `n` and gives the remainder.
  JITTERSCOPE_HOST_DEVICE std::uint64_t split(std::uint64_t& n) const {
    const std::uint64_t whole = quotient(n);
    const std::uint64_t rest = n - whole * divisor;
    n = whole;
    return rest;
  }
  JITTERSCOPE_HOST_DEVICE std::uint32_t narrow_split(std::uint32_t& n) const {
    const std::uint32_t whole = narrow_quotient(n);
    const std::uint32_t rest = n - whole * static_cast<std::uint32_t>(divisor);
    n = whole;
    return rest;
  }
};

}  // namespace jitterscope::cuda
