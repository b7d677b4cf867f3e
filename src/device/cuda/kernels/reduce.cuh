// Sums and maxima over the threads that share a row.
#pragma once

#include <cstdint>

namespace {

struct Sum {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};
struct Maximum {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a < b ? b : a;
  }
};

template <int Width, class Join, class C>
__device__ __forceinline__ C reduce_lanes(C value) {
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2) {
    value = Join()(value, __shfl_xor_sync(0xffffffffu, value, offset, Width));
  }
  return value;
}

/// Over `Group` threads in line: a part of a warp, a warp, or the whole block. Every thread gets the result,
/// the same bits each time. All threads of the block call it together.
template <int Group, class Join, class C>
__device__ __forceinline__ C reduce_group(C value) {
  if constexpr (Group <= 32) {
    return reduce_lanes<Group, Join>(value);
  } else {
    constexpr int kWarps = Group / 32;
    __shared__ C partial[kWarps];
    value = reduce_lanes<32, Join>(value);
    __syncthreads();  // the last reduction has been read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return reduce_lanes<kWarps, Join>(partial[threadIdx.x % kWarps]);
  }
}

}  // namespace
