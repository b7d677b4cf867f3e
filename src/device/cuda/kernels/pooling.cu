// Maximum and average over windows, with a thread for each written element. The gradient reads the windows
// that cover its element, so it needs no atomics and the result is the same each time.
#include "device/cuda/kernels/number.cuh"
#include "device/cuda/kernels/reduce.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::Range;

// The first of equal elements wins, and a NaN wins over numbers, as in PyTorch.
template <class T>
__device__ __forceinline__ void max_forward(T* y, std::int64_t* indices, const T* x, const PoolShape& shape) {
  const std::uint64_t item = first_index();
  if (item >= shape.items) return;
  const PoolShape::Place place = shape.place(item);
  const Range rows = shape.h.covered(place.row), columns = shape.w.covered(place.column);
  Compute<T> best = -INFINITY;
  std::int32_t index = rows.begin * shape.w.size + columns.begin;
  for (std::int32_t row = rows.begin; row < rows.end; ++row) {
    for (std::int32_t column = columns.begin; column < columns.end; ++column) {
      const Compute<T> value = Number<T>::load(x[shape.input_at(place, row, column)]);
      if (!(value > best) && value == value) continue;
      best = value;
      index = row * shape.w.size + column;
    }
  }
  y[item] = Number<T>::store(best);
  indices[item] = index;
}

/// `lanes` threads, one or a whole warp, share a window.
template <class T>
__device__ __forceinline__ void average_forward(T* y, const T* x, const PoolShape& shape,
                                                std::uint32_t lanes) {
  const std::uint64_t item = first_index() / lanes;
  if (item >= shape.items) return;
  const auto lane = static_cast<std::int32_t>(threadIdx.x % lanes);
  const PoolShape::Place place = shape.place(item);
  const Range rows = shape.h.covered(place.row), columns = shape.w.covered(place.column);
  const std::int32_t wide = columns.end - columns.begin, taps = (rows.end - rows.begin) * wide;
  Compute<T> sum = 0;
  std::int32_t row = rows.begin + lane / wide, column = lane % wide;
  for (std::int32_t tap = lane; tap < taps; tap += static_cast<std::int32_t>(lanes)) {
    sum += Number<T>::load(x[shape.input_at(place, row, columns.begin + column)]);
    for (column += static_cast<std::int32_t>(lanes); column >= wide; column -= wide) ++row;
  }
  if (lanes > 1) sum = reduce_warp<Sum>(sum);
  if (lane == 0) y[item] = Number<T>::store(sum / static_cast<Compute<T>>(shape.window_elements()));
}

/// Sums visit(window, element) over the windows that cover the element.
template <class T, class Visit>
__device__ __forceinline__ void gather(T* dx, const PoolShape& shape, Visit visit) {
  const std::uint64_t item = first_index();
  if (item >= shape.items) return;
  const PoolShape::Place place = shape.place(item);
  const Range rows = shape.h.windows(place.row), columns = shape.w.windows(place.column);
  Compute<T> sum = 0;
  for (std::int32_t i = rows.begin; i < rows.end; ++i) {
    for (std::int32_t j = columns.begin; j < columns.end; ++j) {
      sum += visit(shape.output_at(place, i, j), place.row * shape.w.size + place.column);
    }
  }
  dx[item] = Number<T>::store(sum);
}

template <class T>
__device__ __forceinline__ void max_backward(T* dx, const T* dy, const std::int64_t* indices,
                                             const PoolShape& shape) {
  gather<T>(dx, shape, [&](std::uint64_t window, std::int32_t self) {
    return indices[window] == self ? Number<T>::load(dy[window]) : Compute<T>(0);
  });
}

template <class T>
__device__ __forceinline__ void average_backward(T* dx, const T* dy, const PoolShape& shape) {
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(shape.window_elements());
  gather<T>(dx, shape,
            [&](std::uint64_t window, std::int32_t) { return Number<T>::load(dy[window]) * share; });
}

}  // namespace

#define JITTERSCOPE_POOLING(T, suffix)                                                                \
  JITTERSCOPE_ENTRY(kBlockThreads, max_forward_##suffix,                                              \
                    (T * y, std::int64_t * indices, const T* x, PoolShape shape),                     \
                    { max_forward(y, indices, x, shape); })                                           \
  JITTERSCOPE_ENTRY(kBlockThreads, average_forward_##suffix,                                          \
                    (T * y, const T* x, PoolShape shape, std::uint32_t lanes),                        \
                    { average_forward(y, x, shape, lanes); })                                         \
  JITTERSCOPE_ENTRY(kBlockThreads, max_backward_##suffix,                                             \
                    (T * dx, const T* dy, const std::int64_t* indices, PoolShape shape),              \
                    { max_backward(dx, dy, indices, shape); })                                        \
  JITTERSCOPE_ENTRY(kBlockThreads, average_backward_##suffix, (T * dx, const T* dy, PoolShape shape), \
                    { average_backward(dx, dy, shape); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_POOLING)
