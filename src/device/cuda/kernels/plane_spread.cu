// dx of an average over whole planes in NCHW: each plane's share of its dy, written in order. Asking for each
// element which windows cover it takes 20 us for 13 MB.
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::FastDivisor;

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

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                                      \
  JITTERSCOPE_ENTRY(256, spread_planes_##suffix,                                                            \
                    (T * dx, const T* dy, std::uint64_t count, std::uint64_t planes, FastDivisor by_plane), \
                    { spread_planes<T>(dx, dy, count, planes, by_plane); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
