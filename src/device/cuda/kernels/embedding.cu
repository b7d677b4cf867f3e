// Rows of a table by index, and the gradient added back to them: see embedding_shape.hpp.
#include "device/cuda/kernels/embedding_shape.hpp"
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::EmbeddingShape;

/// Which of the indices a thread looks at, and which of their columns it takes.
struct EmbeddingPlace {
  std::uint64_t first, step;
  std::uint32_t group;

  __device__ explicit EmbeddingPlace(const EmbeddingShape& shape) {
    const std::uint32_t stripe = blockIdx.x / static_cast<std::uint32_t>(shape.row_blocks);
    const std::uint32_t block = blockIdx.x % static_cast<std::uint32_t>(shape.row_blocks);
    step = shape.rows_at_once();
    first = block * step * EmbeddingShape::kRowsInFlight + (threadIdx.x >> shape.stripe_shift);
    group = (stripe << shape.stripe_shift) + (threadIdx.x & ((1u << shape.stripe_shift) - 1));
  }
};

// Four rows' worth in flight, since each load waits for its index first.
template <class T, int V>
__device__ __forceinline__ void look_up(T* __restrict__ y, const std::int64_t* __restrict__ indices,
                                        const T* __restrict__ table, const EmbeddingShape& shape) {
  constexpr int kInFlight = EmbeddingShape::kRowsInFlight;
  const EmbeddingPlace place(shape);
  if (place.group >= shape.groups) return;
  std::uint64_t from[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint64_t row = place.first + k * place.step;
    from[k] = row < shape.count ? static_cast<std::uint64_t>(indices[row]) * shape.columns : 0;
  }
  Pack<T, V> values[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) values[k] = Pack<T, V>::load(table + from[k] + place.group * V);
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint64_t row = place.first + k * place.step;
    if (row < shape.count) values[k].store_once(y + row * shape.columns + place.group * V);
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kAddsFour = true;  // at once, which older GPUs cannot
__device__ __forceinline__ void add_four(float* to, const float* values) {
  atomicAdd(reinterpret_cast<float4*>(to), make_float4(values[0], values[1], values[2], values[3]));
}
#else
constexpr bool kAddsFour = false;
template <class C>
__device__ __forceinline__ void add_four(C*, const C*) {}
#endif

template <int V, class C>
__device__ __forceinline__ void add_atomically(C* to, const C (&values)[V]) {
  if constexpr (kAddsFour && V == 4 && sizeof(C) == 4) {
    add_four(to, values);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) atomicAdd(to + i, values[i]);
  }
}

// Atomic adds: two indices may name one row, and sorting them first, as PyTorch does, costs more where few
// do. So the last bits depend on the order of arrival. `sums` is zero before.
template <class T, int V>
__device__ __forceinline__ void scatter(Compute<T>* __restrict__ sums, const T* __restrict__ dy,
                                        const std::int64_t* __restrict__ indices,
                                        const EmbeddingShape& shape) {
  constexpr int kInFlight = EmbeddingShape::kRowsInFlight;
  const EmbeddingPlace place(shape);
  if (place.group >= shape.groups) return;
  Pack<T, V> values[kInFlight];
  std::uint64_t to[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint64_t row = place.first + k * place.step;
    if (row >= shape.count) break;
    to[k] = static_cast<std::uint64_t>(indices[row]) * shape.columns;
    values[k] = Pack<T, V>::load(dy + row * shape.columns + place.group * V);
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (place.first + k * place.step >= shape.count) break;
    Compute<T> wide[V];
#pragma unroll
    for (int i = 0; i < V; ++i) wide[i] = values[k].get(i);
    add_atomically<V>(sums + to[k] + place.group * V, wide);
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

// The second width is that of the sums: four in f32 are one atomic access, in which a warp leaves no gaps.
#define JITTERSCOPE_WIDTH(T, suffix, width, V, W)                                                        \
  JITTERSCOPE_ENTRY(256, embedding_forward_##width##_##suffix,                                           \
                    (T * y, const std::int64_t* indices, const T* table, EmbeddingShape shape),          \
                    { look_up<T, V>(y, indices, table, shape); })                                        \
  JITTERSCOPE_ENTRY(256, embedding_backward_##width##_##suffix,                                          \
                    (Compute<T> * sums, const T* dy, const std::int64_t* indices, EmbeddingShape shape), \
                    { scatter<T, W>(sums, dy, indices, shape); })
#define JITTERSCOPE_KERNELS(T, suffix)                                                                      \
  JITTERSCOPE_WIDTH(T, suffix, single, 1, 1)                                                                \
  JITTERSCOPE_WIDTH(T, suffix, vector, (kPerVector<T>), (kPerVector<Compute<T>>))                           \
  JITTERSCOPE_ENTRY(256, embedding_shorten_##suffix, (T * to, const Compute<T>* from, std::uint64_t count), \
                    { shorten<T>(to, from, count); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
