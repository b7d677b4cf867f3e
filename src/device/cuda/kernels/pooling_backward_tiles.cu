// dx of pooling over square windows of common sizes, gathered: see pool_tiles.hpp. A thread's part of dx
// begins where windows begin, so that which of them cover an element is known when compiled; the first may
// therefore begin in the padding.
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/pool_tiles.hpp"

namespace {

using jitterscope::cuda::backward_tile_strides;
using jitterscope::cuda::backward_tile_together;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::kBackwardTileColumns;
using jitterscope::cuda::kShortTileChannels;
using jitterscope::cuda::kTileChannels;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::tile_place;
using jitterscope::cuda::WindowsOver;

/// dy of a window and, of a maximum, which element gets it: nothing and none for a window that does not
/// exist. Of an index the lower half counts; nothing is done to it until then, so that no thread waits for
/// what it does not use yet.
template <bool Max, class T, int V>
struct WindowGradient {
  Numbers<T, V> value;
  Numbers<std::int64_t, Max ? V : 1> index;

  __device__ __forceinline__ void load(const T* dy, const std::int64_t* indices, std::int64_t at,
                                       bool exists) {
    value = {};
    if constexpr (Max) {
#pragma unroll
      for (int v = 0; v < V; ++v) index.part(v) = -1;
      if (exists) index.load(indices + at);
    }
    if (exists) value.load(dy + at);
  }
  __device__ __forceinline__ void give(std::int32_t element, int v, Compute<T>& to) const {
    if constexpr (Max) {
      if (static_cast<std::int32_t>(index.part(v)) != element) return;
    }
    to += value.get(v);
  }
};

/// The windows over a tile's columns, in one row.
template <bool Max, class T, int V, int Window, int Stride, int Phase>
struct WindowRow {
  using Across = WindowsOver<kBackwardTileColumns, Window, Stride, Phase>;
  WindowGradient<Max, T, V> windows[Across::kCount];

  /// `row` may be none of the plane's.
  __device__ __forceinline__ void load(const T* __restrict__ dy, const std::int64_t* __restrict__ indices,
                                       const PoolShape& shape, const PoolShape::Place& place,
                                       std::int64_t channels, std::int32_t row) {
    const std::int32_t left =
        place.column * (kBackwardTileColumns / Stride) + shape.w.pad / Stride + Across::kFirst;
    const auto plane = static_cast<std::int64_t>(shape.output_at(place, 0, 0));
    const std::int64_t from = plane + (std::int64_t{row} * shape.w.out + left) * channels;
#pragma unroll
    for (int j = 0; j < Across::kCount; ++j) {
      windows[j].load(dy, indices, from + j * channels,
                      is_inside(row, shape.h.out) && is_inside(left + j, shape.w.out));
    }
  }
};

template <bool Max, class T, int V, int Window, int Stride, int Phase, int Strides>
struct BackwardTile {
  static constexpr int kRows = Strides * Stride;
  using Down = WindowsOver<kRows, Window, Stride, 0>;
  using Row = WindowRow<Max, T, V, Window, Stride, Phase>;
  using Across = typename Row::Across;
  Row rows[Down::kCount];

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
        for (int v = 0; v < V; ++v) rows[i].windows[j].give(element, v, sum[v]);
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

/// A row of dx, some rows below the tile's own, which begin at `top`.
template <bool Last, class T, class Tile, int V>
__device__ __forceinline__ void store_row(T* __restrict__ plane, const PoolShape& shape, const Tile& tile,
                                          int row, std::int32_t top, std::int32_t left,
                                          std::int64_t channels) {
  if (!is_inside(top + row, shape.h.size)) return;
  const std::int32_t begin = (top + row) * shape.w.size + left;
  Compute<T> sums[kBackwardTileColumns][V];
#pragma unroll
  for (int a = 0; a < kBackwardTileColumns; ++a) tile.gather(row, a, begin + a, sums[a]);
  store_columns<Last, T, V>(plane + begin * channels, sums, left, shape.w.size, channels);
}

template <bool Max, class T, int Channels, int Window, int Stride, int Phase>
__device__ __forceinline__ void pool_backward_tile(T* __restrict__ dx, const T* __restrict__ dy,
                                                   const std::int64_t* __restrict__ indices,
                                                   const PoolShape& shape) {
  constexpr int V = Channels > 0 ? Channels : 1, kStrides = backward_tile_strides(Max, Channels);
  using Tile = BackwardTile<Max, T, V, Window, Stride, Phase, kStrides>;
  static_assert(kBackwardTileColumns % Stride == 0);
  const auto item = static_cast<std::uint32_t>(first_index());
  if (item >= shape.items) return;
  const PoolShape::Place place = tile_place<Channels>(shape, item);
  const std::int64_t channels = Channels > 0 ? shape.channels : 1;
  Tile tile;
#pragma unroll
  for (int i = 0; i < Tile::Down::kCount; ++i) {
    tile.rows[i].load(dy, indices, shape, place, channels, place.row * kStrides + Tile::Down::kFirst + i);
  }
#pragma unroll
  for (int row = 0; row < Tile::kRows; ++row) {
    store_row<(Channels > 0), T, Tile, V>(dx + shape.input_at(place, 0, 0), shape, tile, row,
                                          place.row * Tile::kRows - shape.h.pad,
                                          place.column * kBackwardTileColumns, channels);
  }
}

/// Of a maximum, channels last: neighbouring rows are other blocks', and a window's indices take four times
/// the registers of its dy in f16. A thread goes down some strides, holds the windows over one of them and
/// reads a row ahead as soon as those of the last stride are used: 95 % of the copy's bandwidth in f16, 86 %
/// by tiles of two strides (H200).
template <class T, int V, int Window, int Stride, int Phase>
__device__ __forceinline__ void pool_backward_down(T* __restrict__ dx, const T* __restrict__ dy,
                                                   const std::int64_t* __restrict__ indices,
                                                   const PoolShape& shape) {
  using Tile = BackwardTile<true, T, V, Window, Stride, Phase, 1>;
  constexpr int kLast = Tile::Down::kCount - 1, kStrides = backward_tile_strides(true, V);
  const auto item = static_cast<std::uint32_t>(first_index());
  if (item >= shape.items) return;
  const PoolShape::Place place = tile_place<V>(shape, item);
  const std::int64_t channels = shape.channels;
  const std::int32_t first = place.row * kStrides + Tile::Down::kFirst;
  Tile tile;
#pragma unroll
  for (int i = 0; i < kLast; ++i) tile.rows[i].load(dy, indices, shape, place, channels, first + i);
  typename Tile::Row next;
  next.load(dy, indices, shape, place, channels, first + kLast);
#pragma unroll
  for (int step = 0; step < kStrides; ++step) {
    tile.rows[kLast] = next;
#pragma unroll
    for (int row = 0; row < Stride; ++row) {
      store_row<true, T, Tile, V>(dx + shape.input_at(place, 0, 0), shape, tile, row,
                                  (place.row * kStrides + step) * Stride - shape.h.pad,
                                  place.column * kBackwardTileColumns, channels);
      if (row == 0 && step + 1 < kStrides) {
        next.load(dy, indices, shape, place, channels, first + kLast + step + 1);
      }
    }
#pragma unroll
    for (int i = 0; i < kLast; ++i) tile.rows[i] = tile.rows[i + 1];
  }
}

}  // namespace

#define JITTERSCOPE_AVERAGE(T, suffix, layout, channels, window, stride, phase)                            \
  JITTERSCOPE_ENTRY(256,                                                                                   \
                    average_backward_##layout##_window##window##_stride##stride##_phase##phase##_##suffix, \
                    (T * dx, const T* dy, PoolShape s),                                                    \
                    { pool_backward_tile<false, T, channels, window, stride, phase>(dx, dy, nullptr, s); })
#define JITTERSCOPE_PLANES(T, suffix, window, stride, phase)                                            \
  JITTERSCOPE_AVERAGE(T, suffix, planes, 0, window, stride, phase)                                      \
  JITTERSCOPE_ENTRY(256, max_backward_planes_window##window##_stride##stride##_phase##phase##_##suffix, \
                    (T * dx, const T* dy, const std::int64_t* indices, PoolShape s),                    \
                    { pool_backward_tile<true, T, 0, window, stride, phase>(dx, dy, indices, s); })
#define JITTERSCOPE_CHANNELS(T, suffix, layout, channels, window, stride, phase)                            \
  JITTERSCOPE_AVERAGE(T, suffix, layout, channels, window, stride, phase)                                   \
  JITTERSCOPE_ROOM_ENTRY(256, backward_tile_together(channels, stride),                                     \
                         max_backward_##layout##_window##window##_stride##stride##_phase##phase##_##suffix, \
                         (T * dx, const T* dy, const std::int64_t* indices, PoolShape s),                   \
                         { pool_backward_down<T, channels, window, stride, phase>(dx, dy, indices, s); })
#define JITTERSCOPE_TILES(T, suffix, window, stride, phase) \
  JITTERSCOPE_PLANES(T, suffix, window, stride, phase)      \
  JITTERSCOPE_CHANNELS(T, suffix, channels, kTileChannels, window, stride, phase)
#define JITTERSCOPE_SHORT_TILES(T, suffix, window, stride, phase) \
  JITTERSCOPE_CHANNELS(T, suffix, more_channels, kShortTileChannels, window, stride, phase)
#define JITTERSCOPE_WINDOWS(tiles, T, suffix) \
  tiles(T, suffix, 3, 2, 0) tiles(T, suffix, 3, 2, 1) tiles(T, suffix, 2, 2, 0) tiles(T, suffix, 3, 1, 0)
#define JITTERSCOPE_ALL_TILES(T, suffix) JITTERSCOPE_WINDOWS(JITTERSCOPE_TILES, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_ALL_TILES)
JITTERSCOPE_WINDOWS(JITTERSCOPE_SHORT_TILES, __half, f16)
JITTERSCOPE_WINDOWS(JITTERSCOPE_SHORT_TILES, __nv_bfloat16, bf16)
