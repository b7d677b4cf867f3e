// dx of pooling over square windows of common sizes in NCHW, gathered, eight columns at once: see
// pool_rows.hpp. A thread's rows begin where windows do, so that which of them cover an element is known when
// compiled; the first may therefore begin in the padding.
#include "device/cuda/kernels/pool_rows.cuh"

namespace {

using jitterscope::cuda::is_inside;
using jitterscope::cuda::kBackwardRowStrides;
using jitterscope::cuda::kRowColumns;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::RowPools;
using jitterscope::cuda::tile_place;
using jitterscope::cuda::WindowsOver;

/// dy of a row of windows and, of a maximum, which elements get it: nothing and none for windows that do not
/// exist.
template <bool Max, class T, class Pools>
struct WindowRow {
  static constexpr int kLeft = Pools::kWindowsLeft, kRight = Pools::kWindowsRight;
  static constexpr int kCount = kLeft + Pools::kWindows + kRight;
  RowPart<T, kLeft, Pools::kWindows, kRight> dy;
  std::int32_t index[kCount];

  /// `left`: of the windows in the middle, the first; of dy and indices, the row begins at `from`.
  __device__ __forceinline__ void load(const T* __restrict__ values, const std::int64_t* __restrict__ indices,
                                       std::int64_t from, std::int32_t left, std::int32_t out, bool exists) {
    dy.middle = {};
    if (exists) dy.middle.load(values + from + left);
#pragma unroll
    for (int i = 0; i < Pools::kWindows; i += 2) {
      if constexpr (!Max) break;
      Pack<std::int64_t, 2> pair;
      pair.part[0] = pair.part[1] = -1;
      if (exists) pair = Pack<std::int64_t, 2>::load(indices + from + left + i);
      index[kLeft + i] = static_cast<std::int32_t>(pair.part[0]);
      index[kLeft + i + 1] = static_cast<std::int32_t>(pair.part[1]);
    }
#pragma unroll
    for (int i = 0; i < kLeft; ++i) {
      load_side(values, indices, from, left - kLeft + i, exists && is_inside(left - kLeft + i, out),
                dy.left[i], index[i]);
    }
#pragma unroll
    for (int i = 0; i < kRight; ++i) {
      const std::int32_t at = left + Pools::kWindows + i;
      load_side(values, indices, from, at, exists && is_inside(at, out), dy.right[i],
                index[kLeft + Pools::kWindows + i]);
    }
  }
  __device__ __forceinline__ static void load_side(const T* __restrict__ values,
                                                   const std::int64_t* __restrict__ indices,
                                                   std::int64_t from, std::int32_t at, bool exists, T& value,
                                                   std::int32_t& index) {
    value = exists ? values[from + at] : T(0);
    if constexpr (Max) index = exists ? static_cast<std::int32_t>(indices[from + at]) : -1;
  }
  __device__ __forceinline__ Compute<T> given_to(std::int32_t element, int window) const {
    if constexpr (Max) return index[window] == element ? dy.get(window) : Compute<T>(0);
    return dy.get(window);
  }
};

template <bool Max, class T, int Window, int Stride, int Pad, int Strides>
struct GradientRows {
  using Pools = RowPools<Window, Stride, Pad>;
  static constexpr int kRows = Strides * Stride;
  using Down = WindowsOver<kRows, Window, Stride, 0>;
  using Row = WindowRow<Max, T, Pools>;
  Row windows[Down::kCount];

  __device__ __forceinline__ GradientRows(const T* __restrict__ dy, const std::int64_t* __restrict__ indices,
                                          const PoolShape& shape, const PoolShape::Place& place) {
    const std::int32_t top = place.row * Strides + Down::kFirst;
    const auto plane = static_cast<std::int64_t>(shape.output_at(place, 0, 0));
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
      windows[i].load(dy, indices, plane + (top + i) * static_cast<std::int64_t>(shape.w.out),
                      place.column * Pools::kWindows, shape.w.out, is_inside(top + i, shape.h.out));
    }
  }
  /// dx at a row and column of the part, which is the plane's `element`.
  __device__ __forceinline__ Compute<T> gather(int row, int column, std::int32_t element) const {
    Compute<T> sum = 0;
#pragma unroll
    for (int i = 0; i < Down::kCount; ++i) {
#pragma unroll
      for (int j = 0; j < Row::kCount; ++j) {
        const int tap = column + Pad - (j - Row::kLeft) * Stride;
        if (Down::covers(i, row) && tap >= 0 && tap < Window) sum += windows[i].given_to(element, j);
      }
    }
    return Max ? sum : sum * (Compute<T>(1) / Compute<T>(Window * Window));
  }
};

template <bool Max, class T, int Window, int Stride, int Pad, int Strides>
__device__ __forceinline__ void pool_backward_rows(T* __restrict__ dx, const T* __restrict__ dy,
                                                   const std::int64_t* __restrict__ indices,
                                                   const PoolShape& shape) {
  using Part = GradientRows<Max, T, Window, Stride, Pad, Strides>;
  const auto item = static_cast<std::uint32_t>(first_index());
  if (item >= shape.items) return;
  const PoolShape::Place place = tile_place<0>(shape, item);
  const Part part(dy, indices, shape, place);
  const std::int32_t top = place.row * Part::kRows - shape.h.pad;
  const std::int32_t left = place.column * kRowColumns;
  T* plane = dx + shape.input_at(place, 0, 0);
#pragma unroll
  for (int row = 0; row < Part::kRows; ++row) {
    if (!is_inside(top + row, shape.h.size)) continue;
    const std::int32_t begin = (top + row) * shape.w.size + left;
    Numbers<T, kRowColumns> result;
#pragma unroll
    for (int column = 0; column < kRowColumns; ++column) {
      result.part(column) = Number<T>::store(part.gather(row, column, begin + column));
    }
    result.store(plane + begin);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, window, stride, pad)                                           \
  JITTERSCOPE_ENTRY(                                                                                  \
      256, max_backward_rows_window##window##_stride##stride##_pad##pad##_##suffix,                   \
      (T * dx, const T* dy, const std::int64_t* indices, PoolShape s),                                \
      { pool_backward_rows<true, T, window, stride, pad, kBackwardRowStrides>(dx, dy, indices, s); }) \
  JITTERSCOPE_ENTRY(                                                                                  \
      256, average_backward_rows_window##window##_stride##stride##_pad##pad##_##suffix,               \
      (T * dx, const T* dy, PoolShape s),                                                             \
      { pool_backward_rows<false, T, window, stride, pad, kBackwardRowStrides>(dx, dy, nullptr, s); })
#define JITTERSCOPE_ROWS(T, suffix)       \
  JITTERSCOPE_KERNELS(T, suffix, 3, 2, 1) \
  JITTERSCOPE_KERNELS(T, suffix, 2, 2, 0) \
  JITTERSCOPE_KERNELS(T, suffix, 3, 1, 1)
// In f32 tiles are faster: see pool_plan.cpp.
JITTERSCOPE_ROWS(__half, f16)
JITTERSCOPE_ROWS(__nv_bfloat16, bf16)
