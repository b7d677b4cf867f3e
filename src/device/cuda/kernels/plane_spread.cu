// dx of an average over whole planes: each plane's share of its dy, written in order. Asking for each element
// which windows cover it takes 20 us for 13 MB.
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::FastDivisor;
using jitterscope::cuda::kBlockThreads;

/// A vector has elements of two planes at most, where a plane is as large as one.
template <class T>
__device__ __forceinline__ void spread_planes(T* __restrict__ dx, const T* __restrict__ dy,
                                              std::uint64_t count, std::uint64_t planes,
                                              const FastDivisor& by_plane) {
  constexpr std::uint32_t V = kPerVector<T>;
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(by_plane.divisor);
  const std::uint64_t at = first_index() * V;
  if (at >= count) return;
  std::uint64_t plane = at;
  const std::uint64_t left = by_plane.divisor - by_plane.split(plane);  // of the first plane from here on
  const std::uint64_t next = plane + 1 < planes ? plane + 1 : plane;
  const T first = Number<T>::store(Number<T>::load(dy[plane]) * share);
  const T second = Number<T>::store(Number<T>::load(dy[next]) * share);
  Vector<T> result;
#pragma unroll
  for (std::uint32_t j = 0; j < V; ++j) result.part[j] = j < left ? first : second;
  if (at + V <= count) {
    result.store(dx + at);
  } else {
    for (std::uint32_t j = 0; at + j < count; ++j) dx[at + j] = result.part[j];
  }
}

/// As above for `each` planes of a block, whose shares it keeps: 214 us for 362 of 8.4 million planes of 7x7
/// in f32 (H200), where each vector would divide by the plane's size and look up dy on its own.
template <class T>
__device__ __forceinline__ void spread_kept(T* __restrict__ dx, const T* __restrict__ dy,
                                            std::uint64_t planes, std::uint32_t each,
                                            const FastDivisor& by_plane) {
  constexpr std::uint32_t V = kPerVector<T>;
  __shared__ T kept[kBlockThreads];
  const auto plane = static_cast<std::uint32_t>(by_plane.divisor);
  const std::uint64_t first = blockIdx.x * std::uint64_t{each};
  const auto present = static_cast<std::uint32_t>(planes - first < each ? planes - first : each);
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(plane);
  if (threadIdx.x < present)
    kept[threadIdx.x] = Number<T>::store(Number<T>::load(dy[first + threadIdx.x]) * share);
  __syncthreads();
  T* to = dx + first * plane;
  const std::uint32_t count = present * plane, vectors = count / V;
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < vectors; i += kBlockThreads) {
    std::uint32_t own = i * V;
    const std::uint32_t left = plane - by_plane.narrow_split(own);
    const T one = kept[own], next = kept[own + 1 < present ? own + 1 : own];
    Vector<T> result;
#pragma unroll
    for (std::uint32_t j = 0; j < V; ++j) result.part[j] = j < left ? one : next;
    result.store(to + i * V);
  }
  const std::uint32_t rest = vectors * V + threadIdx.x;
  if (rest < count) to[rest] = kept[by_plane.narrow_quotient(rest)];
}

/// Channels last: a thread holds its vector's share and writes it to `each` elements of the plane, past the
/// cache: 93 us for 106 in f16 and 208 for 209 in f32, for 4.2 million planes of 7x7 (H200).
template <class T>
__device__ __forceinline__ void spread_channels(T* __restrict__ dx, const T* __restrict__ dy,
                                                std::uint64_t items, std::uint32_t plane, std::uint32_t each,
                                                const FastDivisor& by_vectors, const FastDivisor& by_parts) {
  constexpr std::uint32_t V = kPerVector<T>;
  std::uint64_t image = first_index();
  if (image >= items) return;
  const std::uint64_t vector = by_vectors.split(image);
  const auto begin = static_cast<std::uint32_t>(by_parts.split(image)) * each;
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(plane);
  const std::uint64_t channels = by_vectors.divisor * V;
  auto given = Pack<T, V>::load(dy + image * channels + vector * V);
#pragma unroll
  for (std::uint32_t j = 0; j < V; ++j) given.set(j, given.get(j) * share);
  T* to = dx + (image * plane + begin) * channels + vector * V;
  const std::uint32_t count = plane - begin < each ? plane - begin : each;
#pragma unroll 4
  for (std::uint32_t i = 0; i < count; ++i, to += channels) given.store_once(to);
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                                      \
  JITTERSCOPE_ENTRY(256, spread_planes_##suffix,                                                            \
                    (T * dx, const T* dy, std::uint64_t count, std::uint64_t planes, FastDivisor by_plane), \
                    { spread_planes<T>(dx, dy, count, planes, by_plane); })                                 \
  JITTERSCOPE_ENTRY(256, spread_planes_kept_##suffix,                                                       \
                    (T * dx, const T* dy, std::uint64_t planes, std::uint32_t each, FastDivisor by_plane),  \
                    { spread_kept<T>(dx, dy, planes, each, by_plane); })                                    \
  JITTERSCOPE_ENTRY(256, spread_channels_##suffix,                                                          \
                    (T * dx, const T* dy, std::uint64_t items, std::uint32_t plane, std::uint32_t each,     \
                     FastDivisor by_vectors, FastDivisor by_parts),                                         \
                    { spread_channels<T>(dx, dy, items, plane, each, by_vectors, by_parts); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
