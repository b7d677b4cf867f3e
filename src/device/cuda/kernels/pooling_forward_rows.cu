// Maximum and average over square windows of common sizes in NCHW, eight columns at once: see pool_rows.hpp.
#include "device/cuda/kernels/pool_indices.cuh"
#include "device/cuda/kernels/pool_rows.cuh"

namespace {

using jitterscope::cuda::forward_row_outputs;
using jitterscope::cuda::is_inside;
using jitterscope::cuda::kRowColumns;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::RowPools;
using jitterscope::cuda::tile_place;

__device__ __forceinline__ std::int32_t clamped(std::int32_t at, std::int32_t size) {
  const std::int32_t low = at < 0 ? 0 : at;
  return low < size ? low : size - 1;
}

/// What the windows of some rows of outputs cover. Of a maximum, a tap in the padding becomes its nearest
/// neighbour, as PoolAxis::nearest says; of an average, zero.
template <bool Max, class T, int Window, int Stride, int Pad, int Rows>
struct CoveredRows {
  using Pools = RowPools<Window, Stride, Pad>;
  static constexpr int kInputRows = (Rows - 1) * Stride + Window;
  std::int32_t first_column;  ///< of the eight
  std::int32_t begin[kInputRows];
  std::int32_t columns, last_column;
  RowPart<T, Pools::kLeft, kRowColumns, Pools::kRight> rows[kInputRows];

  __device__ __forceinline__ CoveredRows(const T* __restrict__ plane, const PoolShape& shape,
                                         const PoolShape::Place& place)
      : first_column(place.column * kRowColumns), columns(shape.w.size) {
    const std::int32_t first_row = place.row * (Rows * Stride) - shape.h.pad;
#pragma unroll
    for (int r = 0; r < kInputRows; ++r) {
      begin[r] = clamped(first_row + r, shape.h.size) * columns;
      const bool inside = Max || is_inside(first_row + r, shape.h.size);
      const T* from = plane + begin[r] + first_column;
      auto& row = rows[r];
      if (inside) {
        row.middle.load(from);
      } else {
        row.middle = {};
      }
#pragma unroll
      for (int i = 0; i < Pools::kLeft; ++i) row.left[i] = side(plane + begin[r], i - Pools::kLeft, inside);
#pragma unroll
      for (int i = 0; i < Pools::kRight; ++i) row.right[i] = side(plane + begin[r], kRowColumns + i, inside);
    }
  }
  __device__ __forceinline__ T side(const T* row, int offset, bool inside) const {
    const std::int32_t column = first_column + offset;
    if (Max) return row[clamped(column, columns)];
    return inside && is_inside(column, columns) ? row[column] : T(0);
  }

  /// As PyTorch: the first of equal ones wins, and a NaN wins over numbers.
  __device__ __forceinline__ void maximum(int output, int window, T& y, std::int32_t& index) const {
    const int top = output * Stride, left = window * Stride;
    Compute<T> best = rows[top].get(left);
    index = begin[top] + column(left);
#pragma unroll
    for (int tap = 1; tap < Window * Window; ++tap) {
      const int r = top + tap / Window, s = left + tap % Window;
      const Compute<T> candidate = rows[r].get(s);
      const bool better = candidate > best || candidate != candidate;
      best = better ? candidate : best;
      index = better ? begin[r] + column(s) : index;
    }
    y = Number<T>::store(best);
  }
  __device__ __forceinline__ void average(int output, int window, T& y) const {
    Compute<T> sum = 0;
#pragma unroll
    for (int tap = 0; tap < Window * Window; ++tap) {
      sum += rows[output * Stride + tap / Window].get(window * Stride + tap % Window);
    }
    y = Number<T>::store(sum * (Compute<T>(1) / Compute<T>(Window * Window)));
  }

 private:
  __device__ std::int32_t column(int part) const {
    const std::int32_t at = first_column + part - Pools::kLeft;
    return part < Pools::kLeft || part >= Pools::kLeft + kRowColumns ? clamped(at, columns) : at;
  }
};

template <bool Max, class T, int Window, int Stride, int Pad>
__device__ __forceinline__ void pool_forward_rows(T* __restrict__ y, std::int64_t* __restrict__ indices,
                                                  const T* __restrict__ x, const PoolShape& shape) {
  constexpr int kRows = forward_row_outputs(Max, sizeof(T));
  using Covered = CoveredRows<Max, T, Window, Stride, Pad, kRows>;
  constexpr int kWindows = Covered::Pools::kWindows;
  const auto number = static_cast<std::uint32_t>(first_index());
  const bool present = number < shape.items;
  if (!Max && !present) return;  // indices are stored in turns
  const PoolShape::Place place = tile_place<0>(shape, present ? number : 0);
  const Covered covered(x + shape.input_at(place, 0, 0), shape, place);
  const auto first =
      static_cast<std::int64_t>(shape.output_at(place, place.row * kRows, place.column * kWindows));
#pragma unroll
  for (int output = 0; output < kRows; ++output) {
    const bool exists = present && place.row * kRows + output < shape.h.out;
    const std::int64_t to = first + output * static_cast<std::int64_t>(shape.w.out);
    Numbers<T, kWindows> results;
    std::int32_t places[kWindows];
#pragma unroll
    for (int window = 0; window < kWindows; ++window) {
      if constexpr (Max) {
        covered.maximum(output, window, results.part(window), places[window]);
      } else {
        covered.average(output, window, results.part(window));
      }
    }
    if (exists) results.store(y + to);
    if constexpr (Max) store_indices(indices, exists ? to : -1, places);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, window, stride, pad)                                          \
  JITTERSCOPE_ENTRY(256, max_forward_rows_window##window##_stride##stride##_pad##pad##_##suffix,     \
                    (T * y, std::int64_t * indices, const T* x, PoolShape s),                        \
                    { pool_forward_rows<true, T, window, stride, pad>(y, indices, x, s); })          \
  JITTERSCOPE_ENTRY(256, average_forward_rows_window##window##_stride##stride##_pad##pad##_##suffix, \
                    (T * y, const T* x, PoolShape s),                                                \
                    { pool_forward_rows<false, T, window, stride, pad>(y, nullptr, x, s); })
#define JITTERSCOPE_ROWS(T, suffix)       \
  JITTERSCOPE_KERNELS(T, suffix, 3, 2, 1) \
  JITTERSCOPE_KERNELS(T, suffix, 2, 2, 0) \
  JITTERSCOPE_KERNELS(T, suffix, 3, 1, 1)
JITTERSCOPE_FOR_EACH_SHORT_TYPE(JITTERSCOPE_ROWS)
