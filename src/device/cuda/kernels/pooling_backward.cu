// dx of pooling, gathered: each element of dx asks the windows that cover it, so nothing is added atomically
// and the result is the same each time.
#include "device/cuda/kernels/pool_shape.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::kBackwardRows;
using jitterscope::cuda::PoolShape;
using jitterscope::cuda::Range;

// An item is kBackwardRows rows of dx, at one column. `visit` adds what the window at an offset gives to an
// element.
template <class T, int V, class Visit>
__device__ __forceinline__ void gather(T* __restrict__ dx, const PoolShape& shape, Visit visit) {
  for (std::uint64_t item = first_index(); item < shape.items; item += index_step()) {
    const PoolShape::Place place = shape.place(item, V);
    const Range columns = shape.w.windows(place.column);
    const std::int32_t first_row = place.row * kBackwardRows;
#pragma unroll
    for (std::int32_t row = first_row; row < first_row + kBackwardRows; ++row) {
      if (row >= shape.h.size) break;
      const Range rows = shape.h.windows(row);
      Compute<T> sum[V] = {};
      for (std::int32_t i = rows.begin; i < rows.end; ++i) {
        for (std::int32_t j = columns.begin; j < columns.end; ++j) {
          visit(sum, shape.output_at(place, i, j), row * shape.w.size + place.column);
        }
      }
      store_numbers<V, T>(dx + shape.input_at(place, row, place.column), sum);
    }
  }
}

template <int V>
__device__ __forceinline__ void load_indices(const std::int64_t* from, std::int32_t (&to)[V]) {
  if constexpr (V == 1) {
    to[0] = static_cast<std::int32_t>(from[0]);
  } else {
#pragma unroll
    for (int i = 0; i < V; i += 2) {
      const longlong2 pair = *reinterpret_cast<const longlong2*>(from + i);
      to[i] = static_cast<std::int32_t>(pair.x);
      to[i + 1] = static_cast<std::int32_t>(pair.y);
    }
  }
}

template <class T, int V>
__device__ __forceinline__ void max_backward(T* __restrict__ dx, const T* __restrict__ dy,
                                             const std::int64_t* __restrict__ indices,
                                             const PoolShape& shape) {
  gather<T, V>(dx, shape, [&](Compute<T>(&sum)[V], std::uint64_t offset, std::int32_t self) {
    Compute<T> value[V];
    std::int32_t index[V];
    load_numbers<V, T>(dy + offset, value);
    load_indices<V>(indices + offset, index);
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] += index[j] == self ? value[j] : Compute<T>(0);
  });
}

template <class T, int V>
__device__ __forceinline__ void average_backward(T* __restrict__ dx, const T* __restrict__ dy,
                                                 const PoolShape& shape) {
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(shape.window_elements());
  gather<T, V>(dx, shape, [&](Compute<T>(&sum)[V], std::uint64_t offset, std::int32_t) {
    Compute<T> value[V];
    load_numbers<V, T>(dy + offset, value);
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] += value[j] * share;
  });
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, width, V)                                                  \
  JITTERSCOPE_ENTRY(256, max_backward_##width##_##suffix,                                         \
                    (T * dx, const T* dy, const std::int64_t* indices, PoolShape s),              \
                    { max_backward<T, V>(dx, dy, indices, s); })                                  \
  JITTERSCOPE_ENTRY(256, average_backward_##width##_##suffix, (T * dx, const T* dy, PoolShape s), \
                    { average_backward<T, V>(dx, dy, s); })
#define JITTERSCOPE_WIDTHS(T, suffix)       \
  JITTERSCOPE_KERNELS(T, suffix, single, 1) \
  JITTERSCOPE_KERNELS(T, suffix, vector, (kPerVector<T>))
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_WIDTHS)
