// Softmax and its logarithm over rows that fit into the registers of eight blocks, and into the shared memory
// of none: each is read once.
#include "device/cuda/kernels/cluster.cuh"
#include "device/cuda/kernels/softmax.cuh"

namespace {

template <class T, int Threads, int Slots>
__device__ __forceinline__ void forward_cluster(T* __restrict__ y, const T* __restrict__ x,
                                                std::uint64_t rows, std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  constexpr int kBlocks = ClusterExchange<2, C>::kBlocks;
  __shared__ C received[2][kBlocks];
  const ClusterExchange<2, C> cluster(received);
  const RowSlots row = RowSlots(blockIdx.x / kBlocks, columns, kPerVector<T>)
                           .share(blockIdx.x % kBlocks, kBlocks, kPerVector<T>);
  HeldRow<T, Threads, Slots> values;
  values.load(x, rows, row, threadIdx.x, columns, -INFINITY);
  const Exponentials<C> mine = exponentials_of(values, row, threadIdx.x);
  C parts[2] = {mine.largest, mine.sum};
  cluster.exchange(parts);
  Exponentials<C> all{reduce_lanes<kBlocks, Maximum>(parts[0]), 0};
  all.sum = reduce_lanes<kBlocks, Sum>(parts[1] * exponential(parts[0] - all.largest));
  const Normalizer<C> normalizer(all, logarithm);
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!values.has(row, threadIdx.x, k)) break;
    store_slot(y, row, threadIdx.x + k * Threads, columns, normalized(values.held[k], normalizer, logarithm));
  }
}

template <class T, int Threads, int Slots>
__device__ __forceinline__ void backward_cluster(T* __restrict__ dx, const T* __restrict__ dy,
                                                 const T* __restrict__ y, std::uint64_t rows,
                                                 std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  constexpr int kBlocks = ClusterExchange<1, C>::kBlocks;
  __shared__ C received[1][kBlocks];
  const ClusterExchange<1, C> cluster(received);
  const RowSlots row = RowSlots(blockIdx.x / kBlocks, columns, kPerVector<T>)
                           .share(blockIdx.x % kBlocks, kBlocks, kPerVector<T>);
  HeldRow<T, Threads, Slots> outer, result;
  outer.load(dy, rows, row, threadIdx.x, columns, 0);
  result.load(y, rows, row, threadIdx.x, columns, 0);
  C sum[1] = {0};
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!outer.has(row, threadIdx.x, k)) break;
    sum[0] += terms(outer.held[k], result.held[k], logarithm);
  }
  sum[0] = reduce_group<Threads, Sum>(sum[0]);
  cluster.exchange(sum);
  const C all = reduce_lanes<kBlocks, Sum>(sum[0]);
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!outer.has(row, threadIdx.x, k)) break;
    store_slot(dx, row, threadIdx.x + k * Threads, columns,
               gradients(outer.held[k], result.held[k], all, logarithm));
  }
}

}  // namespace

// 50257 columns run as 256x7 in f32. Three blocks of 256 on an SM instead of two: 1262 us
// for 1594 backward (8192 rows, f32, H200).
#define JITTERSCOPE_CLUSTER_KERNELS(T, suffix, Threads, Slots, together)                                    \
  JITTERSCOPE_CLUSTER_ENTRY(kClusterBlocks, Threads, together,                                              \
                            softmax_forward_cluster_##Threads##x##Slots##_##suffix,                         \
                            (T * y, const T* x, std::uint64_t rows, std::uint64_t columns, bool logarithm), \
                            { forward_cluster<T, Threads, Slots>(y, x, rows, columns, logarithm); })        \
  JITTERSCOPE_CLUSTER_ENTRY(                                                                                \
      kClusterBlocks, Threads, together, softmax_backward_cluster_##Threads##x##Slots##_##suffix,           \
      (T * dx, const T* dy, const T* y, std::uint64_t rows, std::uint64_t columns, bool logarithm),         \
      { backward_cluster<T, Threads, Slots>(dx, dy, y, rows, columns, logarithm); })
#define JITTERSCOPE_KERNELS(T, suffix)              \
  JITTERSCOPE_CLUSTER_KERNELS(T, suffix, 128, 7, 1) \
  JITTERSCOPE_CLUSTER_KERNELS(T, suffix, 256, 4, 1) \
  JITTERSCOPE_CLUSTER_KERNELS(T, suffix, 256, 7, 3)
JITTERSCOPE_FOR_EACH_SHORT_TYPE(JITTERSCOPE_KERNELS)
