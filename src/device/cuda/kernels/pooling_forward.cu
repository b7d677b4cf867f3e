// Maximum and average over windows. Each thread computes one output of V channels that lie side by side; one
// channel where the layout is NCHW, or where C fills no whole vectors.
#include "device/cuda/kernels/pool_shape.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::PoolShape;
using jitterscope::cuda::Range;

// Reads of a square window of this size are unrolled, so that all of them are in flight at once; 0: any size.
template <int Window, class Visit>
__device__ __forceinline__ void for_each_tap(const PoolShape& shape, const PoolShape::Place& place,
                                             Visit visit) {
  if constexpr (Window > 0) {
#pragma unroll
    for (int r = 0; r < Window; ++r) {
      const std::int32_t row = shape.h.nearest(place.row, r);
#pragma unroll
      for (int s = 0; s < Window; ++s) {
        visit(row, shape.w.nearest(place.column, s),
              shape.h.inside(place.row, r) && shape.w.inside(place.column, s));
      }
    }
  } else {
    const Range rows = shape.h.covered(place.row);
    const Range columns = shape.w.covered(place.column);
    for (std::int32_t row = rows.begin; row < rows.end; ++row) {
      for (std::int32_t column = columns.begin; column < columns.end; ++column) visit(row, column, true);
    }
  }
}

template <class T, int V>
__device__ __forceinline__ void store_indices(std::int64_t* to, const std::int32_t (&from)[V]) {
  if constexpr (V == 1) {
    to[0] = from[0];
  } else {
#pragma unroll
    for (int i = 0; i < V; i += 2)
      *reinterpret_cast<longlong2*>(to + i) = make_longlong2(from[i], from[i + 1]);
  }
}

// As PyTorch: the first of equal ones wins, and a NaN wins over numbers.
template <class T, int V, int Window>
__device__ __forceinline__ void max_forward(T* __restrict__ y, std::int64_t* __restrict__ indices,
                                            const T* __restrict__ x, const PoolShape& shape) {
  for (std::uint64_t item = first_index(); item < shape.items; item += index_step()) {
    const PoolShape::Place place = shape.place(item, V);
    Compute<T> best[V];
    std::int32_t index[V];
    const std::int32_t first_row = shape.h.covered(place.row).begin;
    const std::int32_t first_column = shape.w.covered(place.column).begin;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      best[j] = -INFINITY;
      index[j] = first_row * shape.w.size + first_column;
    }
    for_each_tap<Window>(shape, place, [&](std::int32_t row, std::int32_t column, bool) {
      Compute<T> value[V];
      load_numbers<V, T>(x + shape.input_at(place, row, column), value);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const bool better = value[j] > best[j] || value[j] != value[j];
        best[j] = better ? value[j] : best[j];
        index[j] = better ? row * shape.w.size + column : index[j];
      }
    });
    const std::uint64_t to = shape.output_at(place, place.row, place.column);
    store_numbers<V, T>(y + to, best);
    store_indices<T, V>(indices + to, index);
  }
}

template <class T, int V, int Window>
__device__ __forceinline__ void average_forward(T* __restrict__ y, const T* __restrict__ x,
                                                const PoolShape& shape) {
  const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(shape.window_elements());
  for (std::uint64_t item = first_index(); item < shape.items; item += index_step()) {
    const PoolShape::Place place = shape.place(item, V);
    Compute<T> sum[V] = {};
    for_each_tap<Window>(shape, place, [&](std::int32_t row, std::int32_t column, bool inside) {
      Compute<T> value[V];
      load_numbers<V, T>(x + shape.input_at(place, row, column), value);
#pragma unroll
      for (int j = 0; j < V; ++j) sum[j] += inside ? value[j] : Compute<T>(0);
    });
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] *= share;
    store_numbers<V, T>(y + shape.output_at(place, place.row, place.column), sum);
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix, width, V, Window)                      \
  JITTERSCOPE_ENTRY(256, max_forward_##width##_window##Window##_##suffix,     \
                    (T * y, std::int64_t * indices, const T* x, PoolShape s), \
                    { max_forward<T, V, Window>(y, indices, x, s); })         \
  JITTERSCOPE_ENTRY(256, average_forward_##width##_window##Window##_##suffix, \
                    (T * y, const T* x, PoolShape s), { average_forward<T, V, Window>(y, x, s); })
#define JITTERSCOPE_WINDOWS(T, suffix, width, V) \
  JITTERSCOPE_KERNELS(T, suffix, width, V, 0)    \
  JITTERSCOPE_KERNELS(T, suffix, width, V, 2)    \
  JITTERSCOPE_KERNELS(T, suffix, width, V, 3)
#define JITTERSCOPE_WIDTHS(T, suffix)       \
  JITTERSCOPE_WINDOWS(T, suffix, single, 1) \
  JITTERSCOPE_WINDOWS(T, suffix, vector, (kPerVector<T>))
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_WIDTHS)
