// Rows of a table by index, and the gradient added back to them: see embedding_shape.hpp.
#include "device/cuda/kernels/embedding_bins.cuh"
#include "device/cuda/kernels/embedding_sums.cuh"
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::EmbeddingShape;
using jitterscope::cuda::SortedEmbedding;

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

/// Of the rows that a thread goes through. With 8 instead of 4 there were fewer threads: 249 us for 218 (f16,
/// 524288 indices of 50257 rows of 768, H200).
constexpr int kSortedInFlight = 4;

/// Sorted indices that name one row, and the columns of it that the thread takes.
struct Naming {
  std::uint32_t row, begin, end;
  std::uint64_t column;
};

/// Calls visit(naming) for the first part of a row and for one of the further parts, where the thread has
/// them.
template <int V, class Visit>
__device__ __forceinline__ void for_each_part(const EmbeddingBins& bins, const SortedEmbedding& shape,
                                              Visit visit) {
  constexpr std::uint32_t kPart = SortedEmbedding::kPart;
  std::uint64_t item = first_index();
  const std::uint64_t column = shape.groups.split(item) * V;
  const bool has_part = item < bins.totals[1];
  IndexPart part{static_cast<std::uint32_t>(item), 0};
  bool has = item < shape.rows;
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    if (has) {
      const IndexSpan span = bins.spans[part.row];
      const std::uint32_t left = span.count - part.first, begin = span.begin + part.first;
      visit(span, Naming{part.row, begin, begin + (left < kPart ? left : kPart), column});
    }
    if (!has_part) return;
    part = bins.parts[item];
    has = true;
  }
}

// No atomic adds but for rows that many indices name: their order, and so the last bits, depends on the order
// of arrival, as the order of a row's indices does.
template <class T, int V>
__device__ __forceinline__ void add_up(T* __restrict__ dtable, const T* __restrict__ dy,
                                       const EmbeddingBins& bins, const SharedSums<T>& shared,
                                       const SortedEmbedding& shape) {
  constexpr std::uint32_t kPart = SortedEmbedding::kPart;
  for_each_part<V>(bins, shape, [&](const IndexSpan& span, const Naming& named) {
    Compute<T> sum[V] = {};
    for (std::uint32_t i = named.begin; i < named.end; i += kSortedInFlight) {
      std::uint64_t from[kSortedInFlight];
      Pack<T, V> values[kSortedInFlight] = {};
#pragma unroll
      for (int k = 0; k < kSortedInFlight; ++k) from[k] = i + k < named.end ? bins.order[i + k] : 0;
#pragma unroll
      for (int k = 0; k < kSortedInFlight; ++k) {
        if (i + k < named.end) values[k] = Pack<T, V>::load(dy + from[k] * shape.columns + named.column);
      }
#pragma unroll
      for (int k = 0; k < kSortedInFlight; ++k) {
#pragma unroll
        for (int j = 0; j < V; ++j) sum[j] += values[k].get(j);
      }
    }
    if (span.count > kPart) {  // and so has a place of its own among the sums
      const std::uint64_t place = span.begin / kPart * shape.groups.divisor + named.column / V;
      if (!shared.join(place, 1, (span.count + kPart - 1) / kPart, sum)) return;
    }
    Pack<T, V> total;
#pragma unroll
    for (int j = 0; j < V; ++j) total.set(j, sum[j]);
    total.store_once(dtable + named.row * shape.columns + named.column);
  });
}

}  // namespace

#define JITTERSCOPE_WIDTH(T, suffix, width, V)                                                    \
  JITTERSCOPE_ENTRY(256, embedding_forward_##width##_##suffix,                                    \
                    (T * y, const std::int64_t* indices, const T* table, EmbeddingShape shape),   \
                    { look_up<T, V>(y, indices, table, shape); })                                 \
  JITTERSCOPE_ENTRY(                                                                              \
      256, embedding_backward_##width##_##suffix,                                                 \
      (T * dtable, const T* dy, EmbeddingBins bins, SharedSums<T> shared, SortedEmbedding shape), \
      { add_up<T, V>(dtable, dy, bins, shared, shape); })
#define JITTERSCOPE_KERNELS(T, suffix)    \
  JITTERSCOPE_WIDTH(T, suffix, single, 1) \
  JITTERSCOPE_WIDTH(T, suffix, vector, (kPerVector<T>))
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
