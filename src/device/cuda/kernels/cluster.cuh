// Blocks that share a row: a cluster, which runs on neighbouring SMs at the same time (compute
// capability 9.0).
#pragma once

#include "device/cuda/kernels/number.cuh"
#include "device/cuda/kernels/reduce.cuh"
#include "device/cuda/kernels/row_slots.hpp"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include <cooperative_groups.h>
#define JITTERSCOPE_CLUSTERS 1
#endif

// As JITTERSCOPE_ENTRY, of a kernel whose blocks form clusters where the GPU has them. `together`: so many
// blocks are to find room on an SM.
#ifdef JITTERSCOPE_CLUSTERS
#define JITTERSCOPE_CLUSTER_ENTRY(blocks, threads, together, name, parameters, ...)        \
  extern "C" __global__ void __cluster_dims__(blocks) __launch_bounds__(threads, together) \
      name parameters __VA_ARGS__
#else
#define JITTERSCOPE_CLUSTER_ENTRY(blocks, threads, together, name, parameters, ...) \
  JITTERSCOPE_ENTRY(threads, name, parameters, __VA_ARGS__)
#endif

namespace {

using jitterscope::cuda::kClusterBlocks;

/// Numbers that each block of a cluster gives to all the others. Elsewhere a block is its own cluster.
template <int Count, class C>
class ClusterExchange {
 public:
#ifdef JITTERSCOPE_CLUSTERS
  static constexpr int kBlocks = kClusterBlocks;
#else
  static constexpr int kBlocks = 1;
#endif
  /// `received` is shared memory.
  __device__ __forceinline__ explicit ClusterExchange(C (&received)[Count][kBlocks]) : received_(received) {
#ifdef JITTERSCOPE_CLUSTERS
    cooperative_groups::this_cluster().barrier_arrive();  // others may write here as soon as this block runs
#endif
  }
  /// Of the whole block; each lane of a warp then has the numbers of block `lane % kBlocks`.
  __device__ __forceinline__ void exchange(C (&values)[Count]) const {
    const int lane = threadIdx.x % kBlocks;
#ifdef JITTERSCOPE_CLUSTERS
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_wait();
    if (threadIdx.x < kBlocks) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        *cluster.map_shared_rank(&received_[i][cluster.block_rank()], lane) = values[i];
      }
    }
    cluster.sync();
#else
    if (threadIdx.x == 0) {
      for (int i = 0; i < Count; ++i) received_[i][0] = values[i];
    }
    __syncthreads();
#endif
#pragma unroll
    for (int i = 0; i < Count; ++i) values[i] = received_[i][lane];
  }

 private:
  C (&received_)[Count][kBlocks];
};

}  // namespace
