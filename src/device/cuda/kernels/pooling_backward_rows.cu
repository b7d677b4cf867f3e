// dx of pooling over square windows of common sizes in NCHW, gathered, a few columns at once: see
// pool_rows.hpp. A thread's rows begin where windows do, so that which of them cover an element is known when
// compiled; the first may therefore begin in the padding.
#include "device/cuda/kernels/pool_rows.cuh"

namespace {

using jitterscope::cuda::backward_row_columns;
using jitterscope::cuda::backward_row_gives;
using jitterscope::cuda::backward_row_strides;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::RowPools;
using jitterscope::cuda::tile_place;
using jitterscope::cuda::WindowsOver;

/// dy of a row of windows and, of a maximum, which elements get it: nothing and none for windows that do not
/// exist. Where threads give (see backward_row_gives), a window of the one to the left or right comes from
/// there, but for the first and last of a warp.
template <bool Max, class T, class Pools, bool Gives>
struct WindowRow {
  static constexpr int kLeft = Pools::kWindowsLeft, kRight = Pools::kWindowsRight, kOwn = Pools::kWindows;
  static constexpr int kCount = kLeft + kOwn + kRight;
  static_assert(kLeft <= kOwn && kRight <= kOwn && kOwn % 2 == 0);
  Compute<T> dy[kCount];
  std::int32_t index[kCount];

  /// `left`: of the windows in the middle, the first; of dy and indices, the row begins at `from`.
  __device__ __forceinline__ void load(const T* __restrict__ values, const std::int64_t* __restrict__ indices,
                                       std::int64_t from, std::int32_t left, std::int32_t out, bool exists) {
    Numbers<T, kOwn> own = {};
    if (exists) own.load(values + from + left);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) dy[kLeft + i] = own.get(i);
#pragma unroll
    for (int i = 0; i < kOwn; i += 2) {
      if constexpr (!Max) break;
      Pack<std::int64_t, 2> pair;
      pair.part[0] = pair.part[1] = -1;
      if (exists) pair = Pack<std::int64_t, 2>::load(indices + from + left + i);
      index[kLeft + i] = static_cast<std::int32_t>(pair.part[0]);
      index[kLeft + i + 1] = static_cast<std::int32_t>(pair.part[1]);
    }
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kLeft; ++i) {
      const std::int32_t at = left - kLeft + i;
      if constexpr (Gives) dy[i] = __shfl_up_sync(0xffffffffu, dy[kOwn + i], 1);
      if constexpr (Gives && Max) index[i] = __shfl_up_sync(0xffffffffu, index[kOwn + i], 1);
      load_side(i, values, indices, from + at, exists && at >= 0, !Gives || lane == 0);
    }
#pragma unroll
    for (int i = 0; i < kRight; ++i) {
      const std::int32_t at = left + kOwn + i;
      if constexpr (Gives) dy[kLeft + kOwn + i] = __shfl_down_sync(0xffffffffu, dy[kLeft + i], 1);
      if constexpr (Gives && Max)
        index[kLeft + kOwn + i] = __shfl_down_sync(0xffffffffu, index[kLeft + i], 1);
      load_side(kLeft + kOwn + i, values, indices, from + at, exists && at < out, !Gives || lane == 31);
    }
  }
  __device__ __forceinline__ void load_side(int i, const T* __restrict__ values,
                                            const std::int64_t* __restrict__ indices, std::int64_t at,
                                            bool exists, bool alone) {
    if (!exists) {
      dy[i] = 0;
      if constexpr (Max) index[i] = -1;
    } else if (alone) {
      dy[i] = Number<T>::load(values[at]);
      if constexpr (Max) index[i] = static_cast<std::int32_t>(indices[at]);
    }
  }
};

template <bool Max, class T, int Window, int Stride, int Pad>
struct GradientRows {
  static constexpr int kColumns = backward_row_columns(Max, sizeof(T), Stride);
  static constexpr int kStrides = backward_row_strides(Stride);
  using Pools = RowPools<Window, Stride, Pad, kColumns>;
  static constexpr int kRows = kStrides * Stride;
  using Down = WindowsOver<kRows, Window, Stride, 0>;
  using Row = WindowRow<Max, T, Pools, backward_row_gives(Max, sizeof(T), Stride)>;
  Row windows[Down::kCount];

  /// All threads of the warp call it together; one without work is not `present`.
  __device__ __forceinline__ GradientRows(const T* __restrict__ dy, const std::int64_t* __restrict__ indices,
                                          const PoolShape& shape, const PoolShape::Place& place,
                                          bool present) {
    const std::int32_t top = place.row * kStrides + Down::kFirst;
    const auto plane = static_cast<std::int64_t>(shape.output_at(place, 0, 0));
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
      windows[i].load(dy, indices, plane + (top + i) * static_cast<std::int64_t>(shape.w.out),
                      place.column * Pools::kWindows, shape.w.out,
                      present && is_inside(top + i, shape.h.out));
    }
  }
  __device__ static constexpr bool covers(int window, int column) {
    const int tap = column + Pad - (window - Row::kLeft) * Stride;
    return tap >= 0 && tap < Window;
  }
  /// dx at a row of the part, which begins at the plane's `element`.
  __device__ __forceinline__ void gather(int row, std::int32_t element, Compute<T> (&sum)[kColumns]) const {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      sum[column] = 0;
#pragma unroll
      for (int i = 0; i < Down::kCount; ++i) {
#pragma unroll
        for (int j = 0; j < Row::kCount; ++j) {
          if (!Down::covers(i, row) || !covers(j, column)) continue;
          if (windows[i].index[j] == element + column) sum[column] += windows[i].dy[j];
        }
      }
    }
  }
  /// The same of an average: windows below one another are added first, which neighbouring columns share.
  __device__ __forceinline__ void average(int row, Compute<T> (&sum)[kColumns]) const {
    Compute<T> below[Row::kCount] = {};
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
#pragma unroll
      for (int j = 0; j < Row::kCount; ++j) {
        if (Down::covers(i, row)) below[j] += windows[i].dy[j];
      }
    }
#pragma unroll
    for (int column = 0; column < kColumns; ++column) {
      sum[column] = 0;
#pragma unroll
      for (int j = 0; j < Row::kCount; ++j) {
        if (covers(j, column)) sum[column] += below[j];
      }
      sum[column] *= Compute<T>(1) / Compute<T>(Window * Window);
    }
  }
};

template <bool Max, class T, int Window, int Stride, int Pad>
__device__ __forceinline__ void pool_backward_rows(T* __restrict__ dx, const T* __restrict__ dy,
                                                   const std::int64_t* __restrict__ indices,
                                                   const PoolShape& shape) {
  using Part = GradientRows<Max, T, Window, Stride, Pad>;
  const auto item = static_cast<std::uint32_t>(first_index());
  const bool present = item < shape.items;
  const PoolShape::Place place = tile_place<0>(shape, present ? item : 0);
  const Part part(dy, indices, shape, place, present);
  if (!present) return;
  const std::int32_t top = place.row * Part::kRows - shape.h.pad;
  const std::int32_t left = place.column * Part::kColumns;
  T* plane = dx + shape.input_at(place, 0, 0);
#pragma unroll
  for (int row = 0; row < Part::kRows; ++row) {
    if (!is_inside(top + row, shape.h.size)) continue;
    const std::int32_t begin = (top + row) * shape.w.size + left;
    Compute<T> sums[Part::kColumns];
    if constexpr (Max) {
      part.gather(row, begin, sums);
    } else {
      part.average(row, sums);
    }
    Numbers<T, Part::kColumns> result;
#pragma unroll
    for (int column = 0; column < Part::kColumns; ++column) result.set(column, sums[column]);
    result.store(plane + begin);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, window, stride, pad)                                           \
  JITTERSCOPE_ENTRY(256, max_backward_rows_window##window##_stride##stride##_pad##pad##_##suffix,     \
                    (T * dx, const T* dy, const std::int64_t* indices, PoolShape s),                  \
                    { pool_backward_rows<true, T, window, stride, pad>(dx, dy, indices, s); })        \
  JITTERSCOPE_ENTRY(256, average_backward_rows_window##window##_stride##stride##_pad##pad##_##suffix, \
                    (T * dx, const T* dy, PoolShape s),                                               \
                    { pool_backward_rows<false, T, window, stride, pad>(dx, dy, nullptr, s); })
#define JITTERSCOPE_ROWS(T, suffix)       \
  JITTERSCOPE_KERNELS(T, suffix, 3, 2, 1) \
  JITTERSCOPE_KERNELS(T, suffix, 2, 2, 0) \
  JITTERSCOPE_KERNELS(T, suffix, 3, 1, 1)
JITTERSCOPE_FOR_EACH_SHORT_TYPE(JITTERSCOPE_ROWS)
