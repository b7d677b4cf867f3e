// dx of pooling over square windows of common sizes, gathered: see pool_tiles.hpp. A thread's part of dx
// begins where windows begin, so that which of them cover an element is known when compiled; the first may
// therefore begin in the padding.
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/pool_tiles.hpp"

namespace {

using jitterscope::cuda::backward_tile_strides;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::kBackwardTileColumns;
using jitterscope::cuda::kShortTileChannels;
using jitterscope::cuda::kTileChannels;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::tile_place;
using jitterscope::cuda::WindowsOver;

/// dy of a window and, of a maximum, which element gets it: nothing and none for a window that does not
/// exist.
template <bool Max, class T, int V>
struct WindowGradient {
  Numbers<T, V> value;
  std::int32_t index[V];

  __device__ __forceinline__ void load(const T* dy, const std::int64_t* indices, std::int64_t at,
                                       bool exists) {
    value = {};
    if (exists) value.load(dy + at);
    if constexpr (Max) {
      Numbers<std::int64_t, V> whole;
      if (exists) whole.load(indices + at);
#pragma unroll
      for (int v = 0; v < V; ++v) index[v] = exists ? static_cast<std::int32_t>(whole.part(v)) : -1;
    }
  }
  __device__ __forceinline__ Compute<T> given_to(std::int32_t element, int v) const {
    if constexpr (Max) return index[v] == element ? value.get(v) : Compute<T>(0);
    return value.get(v);
  }
};

template <bool Max, class T, int V, int Window, int Stride, int Phase, int Strides>
struct BackwardTile {
  static constexpr int kRows = Strides * Stride;
  using Down = WindowsOver<kRows, Window, Stride, 0>;
  using Across = WindowsOver<kBackwardTileColumns, Window, Stride, Phase>;
  WindowGradient<Max, T, V> windows[Down::kCount][Across::kCount];

  __device__ __forceinline__ BackwardTile(const T* __restrict__ dy, const std::int64_t* __restrict__ indices,
                                          const PoolShape& shape, const PoolShape::Place& place,
                                          std::int64_t channels) {
    const std::int32_t top = place.row * Strides + Down::kFirst;
    const std::int32_t left =
        place.column * (kBackwardTileColumns / Stride) + shape.w.pad / Stride + Across::kFirst;
    const std::int64_t row_length = shape.w.out * channels;
    const auto plane = static_cast<std::int64_t>(shape.output_at(place, 0, 0));
    const std::int64_t from = plane + top * row_length + left * channels;
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
#pragma unroll
      for (int j = 0; j < Across::kCount; ++j) {
        windows[i][j].load(dy, indices, from + i * row_length + j * channels,
                           is_inside(top + i, shape.h.out) && is_inside(left + j, shape.w.out));
      }
    }
  }

  /// Where the tile's row begins; negative in the padding.
  __device__ static std::int32_t first_row(const PoolShape& shape, const PoolShape::Place& place) {
    return place.row * kRows - shape.h.pad;
  }

  /// dx at a row and column of the tile, which is the plane's `element`.
  __device__ __forceinline__ void gather(int row, int column, std::int32_t element,
                                         Compute<T> (&sum)[V]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] = 0;
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
#pragma unroll
      for (int j = 0; j < Across::kCount; ++j) {
        if (!Down::covers(i, row) || !Across::covers(j, column)) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sum[v] += windows[i][j].given_to(element, v);
      }
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (!Max) sum[v] *= Compute<T>(1) / Compute<T>(Window * Window);
    }
  }
};

/// The columns of a tile's row that the plane has; where it has an even number of them, in one access.
template <bool Last, class T, int V>
__device__ __forceinline__ void store_columns(T* to, const Compute<T> (&sums)[kBackwardTileColumns][V],
                                              std::int32_t left, std::int32_t columns,
                                              std::int64_t channels) {
  if (!Last && columns % kBackwardTileColumns == 0) {
    Pack<T, kBackwardTileColumns> result;
#pragma unroll
    for (int a = 0; a < kBackwardTileColumns; ++a) result.set(a, sums[a][0]);
    result.store(to);
    return;
  }
#pragma unroll
  for (int a = 0; a < kBackwardTileColumns; ++a) {
    if (left + a >= columns) return;
    Numbers<T, V> result;
#pragma unroll
    for (int v = 0; v < V; ++v) result.set(v, sums[a][v]);
    result.store(to + a * channels);
  }
}

template <bool Max, class T, int Channels, int Window, int Stride, int Phase, int Strides>
__device__ __forceinline__ void pool_backward_tile(T* __restrict__ dx, const T* __restrict__ dy,
                                                   const std::int64_t* __restrict__ indices,
                                                   const PoolShape& shape) {
  constexpr int V = Channels > 0 ? Channels : 1;
  using Tile = BackwardTile<Max, T, V, Window, Stride, Phase, Strides>;
  static_assert(kBackwardTileColumns % Stride == 0);
  const auto item = static_cast<std::uint32_t>(first_index());
  if (item >= shape.items) return;
  const PoolShape::Place place = tile_place<Channels>(shape, item);
  const std::int64_t channels = Channels > 0 ? shape.channels : 1;
  const Tile tile(dy, indices, shape, place, channels);
  const std::int32_t top = Tile::first_row(shape, place);
  const std::int32_t left = place.column * kBackwardTileColumns;
  const auto plane = static_cast<std::int64_t>(shape.input_at(place, 0, left));
#pragma unroll
  for (int row = 0; row < Tile::kRows; ++row) {
    if (!is_inside(top + row, shape.h.size)) continue;
    const std::int32_t begin = (top + row) * shape.w.size;
    Compute<T> sums[kBackwardTileColumns][V];
#pragma unroll
    for (int a = 0; a < kBackwardTileColumns; ++a) tile.gather(row, a, begin + left + a, sums[a]);
    store_columns<(Channels > 0), T, V>(dx + plane + begin * channels, sums, left, shape.w.size, channels);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, layout, channels, window, stride, phase)                         \
  JITTERSCOPE_ENTRY(                                                                                    \
      256, max_backward_##layout##_window##window##_stride##stride##_phase##phase##_##suffix,           \
      (T * dx, const T* dy, const std::int64_t* indices, PoolShape s), {                                \
        pool_backward_tile<true, T, channels, window, stride, phase, backward_tile_strides(channels)>(  \
            dx, dy, indices, s);                                                                        \
      })                                                                                                \
  JITTERSCOPE_ENTRY(                                                                                    \
      256, average_backward_##layout##_window##window##_stride##stride##_phase##phase##_##suffix,       \
      (T * dx, const T* dy, PoolShape s), {                                                             \
        pool_backward_tile<false, T, channels, window, stride, phase, backward_tile_strides(channels)>( \
            dx, dy, nullptr, s);                                                                        \
      })
#define JITTERSCOPE_LAYOUTS(T, suffix, window, stride, phase)      \
  JITTERSCOPE_KERNELS(T, suffix, planes, 0, window, stride, phase) \
  JITTERSCOPE_KERNELS(T, suffix, channels, kTileChannels, window, stride, phase)
#define JITTERSCOPE_TILES(T, suffix)      \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 2, 0) \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 2, 1) \
  JITTERSCOPE_LAYOUTS(T, suffix, 2, 2, 0) \
  JITTERSCOPE_LAYOUTS(T, suffix, 3, 1, 0)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_TILES)
#define JITTERSCOPE_SHORT_TILES(T, suffix)                                   \
  JITTERSCOPE_KERNELS(T, suffix, more_channels, kShortTileChannels, 3, 2, 0) \
  JITTERSCOPE_KERNELS(T, suffix, more_channels, kShortTileChannels, 3, 2, 1) \
  JITTERSCOPE_KERNELS(T, suffix, more_channels, kShortTileChannels, 2, 2, 0) \
  JITTERSCOPE_KERNELS(T, suffix, more_channels, kShortTileChannels, 3, 1, 0)
JITTERSCOPE_SHORT_TILES(__half, f16)
JITTERSCOPE_SHORT_TILES(__nv_bfloat16, bf16)
