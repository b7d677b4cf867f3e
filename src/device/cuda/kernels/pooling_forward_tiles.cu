// Maximum and average over square windows of common sizes: see pool_tiles.hpp.
#include "device/cuda/kernels/pool_indices.cuh"
#include "device/cuda/kernels/pool_pairs.cuh"
#include "device/cuda/kernels/pool_tiles.hpp"

namespace {

using jitterscope::cuda::forward_tile_rows;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::kShortTileChannels;
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
  Numbers<T, V> value[kInputRows][Window];

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
        value[r][s].load(plane + (begin[r] + column[s]) * channels);
      }
    }
  }

  /// As PyTorch: the first of equal ones wins, and a NaN wins over numbers. What stands for the padding
  /// before the first element is that element.
  __device__ __forceinline__ void maximum(int output, Numbers<T, V>& y, std::int32_t (&indices)[V]) const {
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
      indices[v] = index;
    }
  }

  __device__ __forceinline__ void average(int output, const PoolShape& shape, Numbers<T, V>& y) const {
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

template <bool Max, class T, int Channels, int Window, int Stride, int Rows>
__device__ __forceinline__ void pool_forward_tile(T* __restrict__ y, std::int64_t* __restrict__ indices,
                                                  const T* __restrict__ x, const PoolShape& shape) {
  constexpr int V = Channels > 0 ? Channels : 1;
  const auto item = static_cast<std::uint32_t>(first_index());
  const bool present = item < shape.items;
  if (!(Max && V % 4 == 0) && !present) return;
  const PoolShape::Place place = tile_place<Channels>(shape, present ? item : 0);
  const std::int64_t channels = Channels > 0 ? shape.channels : 1;
  const ForwardTile<T, V, Window, Stride, Rows> tile(x + shape.input_at(place, 0, 0), shape, place, channels);
  const std::int64_t row_length = shape.w.out * channels;
  std::int64_t to = shape.output_at(place, place.row * Rows, place.column);
#pragma unroll
  for (int output = 0; output < Rows; ++output, to += row_length) {
    const bool exists = present && place.row * Rows + output < shape.h.out;
    Numbers<T, V> result;
    if constexpr (Max) {
      std::int32_t places[V];
      tile.maximum(output, result, places);
      store_indices(indices, exists ? to : -1, places);
    } else {
      tile.average(output, shape, result);
    }
    if (exists) result.store(y + to);
  }
}

/// The maxima of a short type, two channels at once: of each row under a window, which windows below one
/// another share.
template <class T, int V, int Window, int Stride, int Rows>
struct ForwardPairs {
  static constexpr int kInputRows = (Rows - 1) * Stride + Window;
  static_assert((kInputRows - 1) * jitterscope::cuda::kWidestPairRow + Window < 1 << 16);
  std::int32_t first;  ///< in the plane: where places begin to count
  PairMaxima<T, V> values[kInputRows][Window];

  __device__ __forceinline__ ForwardPairs(const T* __restrict__ plane, const PoolShape& shape,
                                          const PoolShape::Place& place) {
    const std::int32_t first_row = place.row * (Rows * Stride) - shape.h.pad;
    const std::int32_t first_column = place.column * Stride - shape.w.pad;
    const std::int32_t top = clamped(first_row, shape.h.size) * shape.w.size;
    const std::int32_t left = clamped(first_column, shape.w.size);
    first = top + left;
#pragma unroll
    for (int r = 0; r < kInputRows; ++r) {
      const std::int32_t begin = clamped(first_row + r, shape.h.size) * shape.w.size;
#pragma unroll
      for (int s = 0; s < Window; ++s) {
        const std::int32_t column = clamped(first_column + s, shape.w.size);
        values[r][s].load(plane + (begin + column) * std::int64_t{shape.channels});
        values[r][s].set_place(twice(begin - top) + twice(column - left));
      }
    }
#pragma unroll
    for (int r = 0; r < kInputRows; ++r) {
#pragma unroll
      for (int s = 1; s < Window; ++s) values[r][0].take(values[r][s]);
    }
  }
};

template <class T, int V, int Window, int Stride, int Rows>
__device__ __forceinline__ void max_forward_pairs(T* __restrict__ y, std::int64_t* __restrict__ indices,
                                                  const T* __restrict__ x, const PoolShape& shape) {
  const auto item = static_cast<std::uint32_t>(first_index());
  const bool present = item < shape.items;  // all threads take turns at the indices
  const PoolShape::Place place = tile_place<V>(shape, present ? item : 0);
  const ForwardPairs<T, V, Window, Stride, Rows> pairs(x + shape.input_at(place, 0, 0), shape, place);
  const std::int64_t row_length = shape.w.out * std::int64_t{shape.channels};
  std::int64_t to = shape.output_at(place, place.row * Rows, place.column);
#pragma unroll
  for (int output = 0; output < Rows; ++output, to += row_length) {
    const bool exists = present && place.row * Rows + output < shape.h.out;
    PairMaxima<T, V> best = pairs.values[output * Stride][0];
#pragma unroll
    for (int r = 1; r < Window; ++r) best.take(pairs.values[output * Stride + r][0]);
    std::int32_t places[V];
    best.places(pairs.first, places);
    store_indices(indices, exists ? to : -1, places);
    if (exists) best.store(y + to);
  }
}

}  // namespace

#define JITTERSCOPE_AVERAGE(T, suffix, layout, channels, window, stride)                            \
  JITTERSCOPE_ENTRY(                                                                                \
      256, average_forward_##layout##_window##window##_stride##stride##_##suffix,                   \
      (T * y, const T* x, PoolShape s), {                                                           \
        pool_forward_tile<false, T, channels, window, stride, forward_tile_rows(window, channels)>( \
            y, nullptr, x, s);                                                                      \
      })
#define JITTERSCOPE_KERNELS(T, suffix, layout, channels, window, stride)                           \
  JITTERSCOPE_AVERAGE(T, suffix, layout, channels, window, stride)                                 \
  JITTERSCOPE_ENTRY(                                                                               \
      256, max_forward_##layout##_window##window##_stride##stride##_##suffix,                      \
      (T * y, std::int64_t * indices, const T* x, PoolShape s), {                                  \
        pool_forward_tile<true, T, channels, window, stride, forward_tile_rows(window, channels)>( \
            y, indices, x, s);                                                                     \
      })
#define JITTERSCOPE_LAYOUTS(T, suffix, window, stride)      \
  JITTERSCOPE_KERNELS(T, suffix, planes, 0, window, stride) \
  JITTERSCOPE_KERNELS(T, suffix, channels, kTileChannels, window, stride)
#define JITTERSCOPE_TILES(T, suffix)   \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 2) \
  JITTERSCOPE_LAYOUTS(T, suffix, 2, 2) \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 1)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_TILES)
#define JITTERSCOPE_PAIRS(T, suffix, window, stride)                                                      \
  JITTERSCOPE_AVERAGE(T, suffix, more_channels, kShortTileChannels, window, stride)                       \
  JITTERSCOPE_ENTRY(256, max_forward_more_channels_window##window##_stride##stride##_##suffix,            \
                    (T * y, std::int64_t * indices, const T* x, PoolShape s), {                           \
                      max_forward_pairs<T, kShortTileChannels, window, stride,                            \
                                        forward_tile_rows(window, kShortTileChannels)>(y, indices, x, s); \
                    })
#define JITTERSCOPE_SHORT_TILES(T, suffix) \
  JITTERSCOPE_PAIRS(T, suffix, 3, 2)       \
  JITTERSCOPE_PAIRS(T, suffix, 2, 2)       \
  JITTERSCOPE_PAIRS(T, suffix, 3, 1)
JITTERSCOPE_SHORT_TILES(__half, f16)
JITTERSCOPE_SHORT_TILES(__nv_bfloat16, bf16)
