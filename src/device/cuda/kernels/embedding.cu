// Rows of a table by index, and the gradient added back to them.
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::FastDivisor;

// Four rows' worth in flight, since each load waits for its index first.
template <class T, int V>
__device__ __forceinline__ void look_up(T* __restrict__ y, const std::int64_t* __restrict__ indices,
                                        const T* __restrict__ table, std::uint64_t items,
                                        const FastDivisor& by_groups) {
  constexpr int kInFlight = 4;
  const std::uint64_t columns = by_groups.divisor * V;
  const std::uint64_t step = index_step();
  for (std::uint64_t first = first_index(); first < items; first += kInFlight * step) {
    Compute<T> values[kInFlight][V];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      std::uint64_t row = first + k * step;
      if (row >= items) break;
      const std::uint64_t group = by_groups.split(row);
      load_numbers<V, T>(table + static_cast<std::uint64_t>(indices[row]) * columns + group * V, values[k]);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (first + k * step >= items) break;
      store_numbers<V, T>(y + (first + k * step) * V, values[k]);
    }
  }
}

// Atomic adds: two indices may name one row, and sorting them first, as PyTorch does, costs more where few
// do. So the last bits depend on the order of arrival. `sums` is zero before.
template <class T>
__device__ __forceinline__ void scatter(Compute<T>* __restrict__ sums, const T* __restrict__ dy,
                                        const std::int64_t* __restrict__ indices, std::uint64_t items,
                                        const FastDivisor& by_columns) {
#pragma unroll 4
  for (std::uint64_t item = first_index(); item < items; item += index_step()) {
    std::uint64_t row = item;
    const std::uint64_t column = by_columns.split(row);
    atomicAdd(sums + static_cast<std::uint64_t>(indices[row]) * by_columns.divisor + column,
              Number<T>::load(dy[item]));
  }
}

// Sums in f32 to the 16 bits of the table.
template <class T>
__device__ __forceinline__ void shorten(T* __restrict__ to, const Compute<T>* __restrict__ from,
                                        std::uint64_t count) {
  constexpr int V = kPerVector<T>;
  const std::uint64_t vectors = count / V;
#pragma unroll 2
  for (std::uint64_t i = first_index(); i < vectors; i += index_step()) {
    Compute<T> values[V];
    load_numbers<V, Compute<T>>(from + i * V, values);
    store_numbers<V, T>(to + i * V, values);
  }
  const std::uint64_t last = vectors * V + first_index();
  if (last < count) to[last] = Number<T>::store(from[last]);
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                                      \
  JITTERSCOPE_ENTRY(                                                                                        \
      256, embedding_forward_single_##suffix,                                                               \
      (T * y, const std::int64_t* indices, const T* table, std::uint64_t items, FastDivisor by_groups),     \
      { look_up<T, 1>(y, indices, table, items, by_groups); })                                              \
  JITTERSCOPE_ENTRY(                                                                                        \
      256, embedding_forward_vector_##suffix,                                                               \
      (T * y, const std::int64_t* indices, const T* table, std::uint64_t items, FastDivisor by_groups),     \
      { look_up<T, kPerVector<T>>(y, indices, table, items, by_groups); })                                  \
  JITTERSCOPE_ENTRY(256, embedding_backward_##suffix,                                                       \
                    (Compute<T> * sums, const T* dy, const std::int64_t* indices, std::uint64_t items,      \
                     FastDivisor columns),                                                                  \
                    { scatter<T>(sums, dy, indices, items, columns); })                                     \
  JITTERSCOPE_ENTRY(256, embedding_shorten_##suffix, (T * to, const Compute<T>* from, std::uint64_t count), \
                    { shorten<T>(to, from, count); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
