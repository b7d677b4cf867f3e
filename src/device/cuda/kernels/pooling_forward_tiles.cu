// Maximum and average over square windows of common sizes: see pool_tiles.hpp.
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/pool_tiles.hpp"

namespace {

using jitterscope::cuda::forward_tile_rows;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::kTileChannels;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::tile_place;

__device__ __forceinline__ std::int32_t clamped(std::int32_t at, std::int32_t size) {
  const std::int32_t low = at < 0 ? 0 : at;
  return low < size ? low : size - 1;
}

/// What outputs below one another cover. A tap in the padding becomes its nearest neighbour, as
/// PoolAxis::nearest says.
template <class T, int V, int Window, int Stride, int Rows>
struct ForwardTile {
  static constexpr int kInputRows = (Rows - 1) * Stride + Window;
  std::int32_t first_row, first_column;
  std::int32_t begin[kInputRows], column[Window];  ///< in the plane: of each row; in each row
  Pack<T, V> value[kInputRows][Window];

  __device__ __forceinline__ ForwardTile(const T* __restrict__ plane, const PoolShape& shape,
                                         const PoolShape::Place& place, std::int64_t channels)
      : first_row(place.row * (Rows * Stride) - shape.h.pad),
        first_column(place.column * Stride - shape.w.pad) {
#pragma unroll
    for (int s = 0; s < Window; ++s) column[s] = clamped(first_column + s, shape.w.size);
#pragma unroll
    for (int r = 0; r < kInputRows; ++r) {
      begin[r] = clamped(first_row + r, shape.h.size) * shape.w.size;
#pragma unroll
      for (int s = 0; s < Window; ++s) {
        value[r][s] = Pack<T, V>::load(plane + (begin[r] + column[s]) * channels);
      }
    }
  }

  /// As PyTorch: the first of equal ones wins, and a NaN wins over numbers. What stands for the padding
  /// before the first element is that element.
  __device__ __forceinline__ void maximum(int output, Pack<T, V>& y, Pack<std::int64_t, V>& indices) const {
    const int top = output * Stride;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      Compute<T> best = value[top][0].get(v);
      std::int32_t index = begin[top] + column[0];
#pragma unroll
      for (int tap = 1; tap < Window * Window; ++tap) {
        const int r = top + tap / Window, s = tap % Window;
        const Compute<T> candidate = value[r][s].get(v);
        const bool better = candidate > best || candidate != candidate;
        best = better ? candidate : best;
        index = better ? begin[r] + column[s] : index;
      }
      y.set(v, best);
      indices.part[v] = index;
    }
  }

  __device__ __forceinline__ void average(int output, const PoolShape& shape, Pack<T, V>& y) const {
    Compute<T> sum[V] = {};
#pragma unroll
    for (int tap = 0; tap < Window * Window; ++tap) {
      const int r = output * Stride + tap / Window, s = tap % Window;
      const bool inside = is_inside(first_row + r, shape.h.size) && is_inside(first_column + s, shape.w.size);
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] += inside ? value[r][s].get(v) : Compute<T>(0);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) y.set(v, sum[v] * (Compute<T>(1) / Compute<T>(Window * Window)));
  }
};

template <bool Max, class T, bool Last, int Window, int Stride>
__device__ __forceinline__ void pool_forward_tile(T* __restrict__ y, std::int64_t* __restrict__ indices,
                                                  const T* __restrict__ x, const PoolShape& shape) {
  constexpr int V = Last ? kTileChannels : 1;
  constexpr int kRows = forward_tile_rows(Window, Last);
  const auto item = static_cast<std::uint32_t>(first_index());
  if (item >= shape.items) return;
  const PoolShape::Place place = tile_place<Last>(shape, item);
  const std::int64_t channels = Last ? shape.channels : 1;
  const ForwardTile<T, V, Window, Stride, kRows> tile(x + shape.input_at(place, 0, 0), shape, place,
                                                      channels);
  const std::int64_t row_length = shape.w.out * channels;
  std::int64_t to = shape.output_at(place, place.row * kRows, place.column);
#pragma unroll
  for (int output = 0; output < kRows; ++output, to += row_length) {
    if (place.row * kRows + output >= shape.h.out) return;
    Pack<T, V> result;
    if constexpr (Max) {
      Pack<std::int64_t, V> places;
      tile.maximum(output, result, places);
      places.store(indices + to);
    } else {
      tile.average(output, shape, result);
    }
    result.store(y + to);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, layout, last, window, stride)                            \
  JITTERSCOPE_ENTRY(256, max_forward_##layout##_window##window##_stride##stride##_##suffix,     \
                    (T * y, std::int64_t * indices, const T* x, PoolShape s),                   \
                    { pool_forward_tile<true, T, last, window, stride>(y, indices, x, s); })    \
  JITTERSCOPE_ENTRY(256, average_forward_##layout##_window##window##_stride##stride##_##suffix, \
                    (T * y, const T* x, PoolShape s),                                           \
                    { pool_forward_tile<false, T, last, window, stride>(y, nullptr, x, s); })
#define JITTERSCOPE_LAYOUTS(T, suffix, window, stride)          \
  JITTERSCOPE_KERNELS(T, suffix, planes, false, window, stride) \
  JITTERSCOPE_KERNELS(T, suffix, channels, true, window, stride)
#define JITTERSCOPE_TILES(T, suffix)   \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 2) \
  JITTERSCOPE_LAYOUTS(T, suffix, 2, 2) \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 1)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_TILES)
