// Indices of maxima, as PyTorch keeps them: eight bytes each.
#pragma once

#include "device/cuda/kernels/pack.cuh"

namespace {

/// Indices of neighbouring threads in turns: an index has 8 bytes, so that each thread's store of two of its
/// four would fill half of a sector of memory, while that of two threads' first, then last ones fills whole.
template <int Count>
__device__ __forceinline__ void store_in_turns(std::int64_t* indices, std::int64_t to,
                                               const std::int32_t (&own)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; i += 4) {
    const bool odd = threadIdx.x % 2 != 0;
    const std::int64_t other = __shfl_xor_sync(0xffffffffu, to, 1);
    const std::int32_t a = __shfl_xor_sync(0xffffffffu, odd ? own[i] : own[i + 2], 1);
    const std::int32_t b = __shfl_xor_sync(0xffffffffu, odd ? own[i + 1] : own[i + 3], 1);
    const std::int64_t even_to = odd ? other : to, odd_to = odd ? to : other;
    Pack<std::int64_t, 2> pair;
    pair.part[0] = odd ? a : own[i];
    pair.part[1] = odd ? b : own[i + 1];
    if (even_to >= 0) pair.store(indices + even_to + i + (odd ? 2 : 0));
    pair.part[0] = odd ? own[i + 2] : a;
    pair.part[1] = odd ? own[i + 3] : b;
    if (odd_to >= 0) pair.store(indices + odd_to + i + (odd ? 2 : 0));
  }
}

/// Where `to` is not negative; all threads of the warp call it together.
template <int Count>
__device__ __forceinline__ void store_indices(std::int64_t* indices, std::int64_t to,
                                              const std::int32_t (&own)[Count]) {
  if constexpr (Count % 4 == 0) {
    store_in_turns(indices, to, own);
  } else {
    Numbers<std::int64_t, Count> wide;
#pragma unroll
    for (int i = 0; i < Count; ++i) wide.part(i) = own[i];
    if (to >= 0) wide.store(indices + to);
  }
}

}  // namespace
