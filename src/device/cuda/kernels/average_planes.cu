// The average of each whole plane, as AdaptiveAvgPool2d(1) computes it: a group of threads for each plane,
// since one thread for each would leave most of the GPU without work and, in NCHW, read without order.
#include "device/cuda/kernels/plane_stage.hpp"
#include "device/cuda/kernels/row_group.cuh"

namespace {

using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::PlaneStage;

template <class T, int Group>
__device__ __forceinline__ void average_planes(T* __restrict__ y, const T* __restrict__ x,
                                               std::uint64_t planes, std::uint64_t plane) {
  const RowGroup<Group> group;
  const bool present = group.row < planes;
  const RowSlots row(present ? group.row : 0, plane,
                     kPerVector<T>);  // all threads take part in the reduction
  Compute<T> sum = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> v = load_slot(x, row, slot, plane, Compute<T>(0));
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += v.get(j);
  }
  sum = reduce_group<Group, Sum>(sum);
  if (present && group.lane == 0) y[group.row] = Number<T>::store(sum / static_cast<Compute<T>>(plane));
}

/// A word of shared memory: the bank that a thread reads at once.
template <class T>
union Word {
  std::uint32_t whole;
  T part[2];
};

/// The lane's part of a plane that begins anywhere in shared memory.
template <int Lanes, class T>
__device__ __forceinline__ Compute<T> sum_part(const T* kept, std::uint32_t begin, std::uint32_t end,
                                               std::uint32_t lane) {
  Compute<T> sum = 0;
  if constexpr (sizeof(T) == 2) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(kept);
    if (lane == 0 && begin % 2 != 0) sum += Number<T>::load(kept[begin]);
    if (lane == 0 && end % 2 != 0) sum += Number<T>::load(kept[end - 1]);
#pragma unroll 4
    for (std::uint32_t i = (begin + 1) / 2 + lane; i < end / 2; i += Lanes) {
      Word<T> word;
      word.whole = words[i];
      sum += Number<T>::load(word.part[0]) + Number<T>::load(word.part[1]);
    }
  } else {
#pragma unroll 4
    for (std::uint32_t i = begin + lane; i < end; i += Lanes) sum += kept[i];
  }
  return sum;
}

/// Lanes threads for each plane, 256/Lanes planes for each block: see PlaneStage.
template <class T, int Lanes>
__device__ __forceinline__ void average_staged(T* __restrict__ y, const T* __restrict__ x,
                                               std::uint64_t planes, std::uint32_t plane) {
  constexpr std::uint32_t V = kPerVector<T>, kPlanes = kBlockThreads / Lanes;
  __shared__ uint4 kept[PlaneStage::kBytes / sizeof(uint4)];
  const std::uint64_t first = blockIdx.x * std::uint64_t{kPlanes};
  const auto present = static_cast<std::uint32_t>(planes - first < kPlanes ? planes - first : kPlanes);
  const T* from = x + first * plane;
  T* to = reinterpret_cast<T*>(kept);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < present * plane / V; i += kBlockThreads) {
    kept[i] = Vector<T>(from + i * V).whole;
  }
  const std::uint32_t rest = present * plane / V * V + threadIdx.x;
  if (rest < present * plane) to[rest] = from[rest];
  __syncthreads();
  const std::uint32_t own = threadIdx.x / Lanes, lane = threadIdx.x % Lanes;
  const bool has = own < present;
  Compute<T> sum = has ? sum_part<Lanes>(to, own * plane, (own + 1) * plane, lane) : Compute<T>(0);
  sum = reduce_lanes<Lanes, Sum>(sum);
  if (has && lane == 0) y[first + own] = Number<T>::store(sum / static_cast<Compute<T>>(plane));
}

/// Channels last: a vector of channels for each lane of a block, whose warps share the plane's elements, so
/// that all of 7x7 are in flight at once.
template <class T>
__device__ __forceinline__ void average_channels(T* __restrict__ y, const T* __restrict__ x,
                                                 std::uint32_t plane, std::uint32_t channels) {
  constexpr std::uint32_t V = kPerVector<T>, kLanes = PlaneStage::kChannelLanes,
                          kWarps = kBlockThreads / kLanes, kInFlight = 7;
  __shared__ Compute<T> kept[kWarps][kLanes * V];
  const std::uint32_t lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const std::uint32_t parts = (channels / V + kLanes - 1) / kLanes;
  const std::uint64_t image = blockIdx.x / parts;
  const std::uint32_t first = blockIdx.x % parts * (kLanes * V);
  const bool present = first + lane * V < channels;
  const T* from = x + image * plane * channels + first + lane * V;
  Compute<T> sum[V] = {};
  for (std::uint32_t begin = warp; begin < plane; begin += kWarps * kInFlight) {
    Vector<T> v[kInFlight];
#pragma unroll
    for (std::uint32_t k = 0; k < kInFlight; ++k) {
      const std::uint32_t at = begin + k * kWarps;
      if (present && at < plane) v[k] = Vector<T>(from + at * std::uint64_t{channels});
    }
#pragma unroll
    for (std::uint32_t k = 0; k < kInFlight; ++k) {
#pragma unroll
      for (std::uint32_t j = 0; j < V; ++j) sum[j] += v[k].get(j);
    }
  }
#pragma unroll
  for (std::uint32_t j = 0; j < V; ++j) kept[warp][lane * V + j] = sum[j];
  __syncthreads();
  const std::uint32_t own = threadIdx.x;
  if (own >= kLanes * V || first + own >= channels) return;
  Compute<T> total = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < kWarps; ++w) total += kept[w][own];
  y[image * channels + first + own] = Number<T>::store(total / static_cast<Compute<T>>(plane));
}

}  // namespace

#define JITTERSCOPE_KERNEL(T, suffix, group)                                        \
  JITTERSCOPE_ENTRY(256, average_planes##group##_##suffix,                          \
                    (T * y, const T* x, std::uint64_t planes, std::uint64_t plane), \
                    { average_planes<T, group>(y, x, planes, plane); })
#define JITTERSCOPE_STAGED(T, suffix, lanes)                                        \
  JITTERSCOPE_ENTRY(256, average_planes_staged##lanes##_##suffix,                   \
                    (T * y, const T* x, std::uint64_t planes, std::uint32_t plane), \
                    { average_staged<T, lanes>(y, x, planes, plane); })
#define JITTERSCOPE_CHANNELS(T, suffix)                                               \
  JITTERSCOPE_ENTRY(256, average_channels_##suffix,                                   \
                    (T * y, const T* x, std::uint32_t plane, std::uint32_t channels), \
                    { average_channels<T>(y, x, plane, channels); })
#define JITTERSCOPE_KERNELS(T, suffix) \
  JITTERSCOPE_CHANNELS(T, suffix)      \
  JITTERSCOPE_STAGED(T, suffix, 1)     \
  JITTERSCOPE_STAGED(T, suffix, 2)     \
  JITTERSCOPE_STAGED(T, suffix, 4)     \
  JITTERSCOPE_STAGED(T, suffix, 8)     \
  JITTERSCOPE_KERNEL(T, suffix, 32)    \
  JITTERSCOPE_KERNEL(T, suffix, 256)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
