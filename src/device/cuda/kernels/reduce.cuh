// Sums and maxima over threads, always in the same order, so that a result has the same bits each time.
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

/// Every lane of the warp gets the result.
template <class Join, class C>
__device__ __forceinline__ C reduce_warp(C value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Join()(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

/// Every thread of the block gets the result, and all must call it together. A block is whole warps.
template <class Join, class C>
__device__ __forceinline__ C reduce_block(C value) {
  __shared__ C of_warp[32];
  value = reduce_warp<Join>(value);
  __syncthreads();  // the previous reduction has been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  C result = of_warp[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) result = Join()(result, of_warp[warp]);
  return result;
}

}  // namespace
