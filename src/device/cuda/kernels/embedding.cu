// Looks up rows of a table by index, and adds the gradient back to them by atomic additions: their order, and
// so the last bits, may differ from run to run.
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::FastDivisor;
using jitterscope::cuda::kBlockThreads;

/// Calls visit(width, element, place) for the thread's elements of count*columns and their places in the
/// table: for a vector if every row is whole vectors, else for one element.
template <class T, class Visit>
__device__ __forceinline__ void for_own_places(const std::int64_t* indices, std::uint64_t count,
                                               const FastDivisor& columns, Visit visit) {
  const auto visit_one = [&](auto width) {
    const std::uint64_t element = first_index() * decltype(width)::value;
    if (element >= count * columns.divisor) return;
    std::uint64_t row = element;
    const std::uint64_t column = columns.split(row);
    visit(width, element, static_cast<std::uint64_t>(indices[row]) * columns.divisor + column);
  };
  if (columns.divisor % kPerVector<T> == 0) {
    visit_one(Width<kPerVector<T>>());
  } else {
    visit_one(Width<1>());
  }
}

template <class T>
__device__ __forceinline__ void look_up(T* y, const std::int64_t* indices, const T* table,
                                        std::uint64_t count, const FastDivisor& columns) {
  for_own_places<T>(indices, count, columns, [&](auto width, std::uint64_t to, std::uint64_t from) {
    Pack<T, decltype(width)::value>::load(table + from).store(y + to);
  });
}

template <class T>
__device__ __forceinline__ void add_up(Compute<T>* sums, const std::int64_t* indices, const T* dy,
                                       std::uint64_t count, const FastDivisor& columns) {
  for_own_places<T>(indices, count, columns, [&](auto width, std::uint64_t from, std::uint64_t to) {
    const auto numbers = Pack<T, decltype(width)::value>::load(dy + from);
#pragma unroll
    for (int j = 0; j < width.value; ++j) atomicAdd(sums + to + j, numbers.get(j));
  });
}

}  // namespace

// Rounds sums that were kept in f32 for numbers of 16 bits.
#define JITTERSCOPE_ROUND_SUMS(T, suffix)                                                 \
  JITTERSCOPE_ENTRY(kBlockThreads, embedding_round_sums_##suffix,                         \
                    (T * to, const float* sums, std::uint64_t count), {                   \
                      map_elements(                                                       \
                          to, count, [](std::uint64_t, float sum) { return sum; }, sums); \
                    })
JITTERSCOPE_ROUND_SUMS(__half, f16)
JITTERSCOPE_ROUND_SUMS(__nv_bfloat16, bf16)
#define JITTERSCOPE_EMBEDDING(T, suffix)                                                               \
  JITTERSCOPE_ENTRY(                                                                                   \
      kBlockThreads, embedding_forward_##suffix,                                                       \
      (T * y, const std::int64_t* indices, const T* table, std::uint64_t count, FastDivisor columns),  \
      { look_up(y, indices, table, count, columns); })                                                 \
  JITTERSCOPE_ENTRY(kBlockThreads, embedding_backward_##suffix,                                        \
                    (Compute<T> * sums, const std::int64_t* indices, const T* dy, std::uint64_t count, \
                     FastDivisor columns),                                                             \
                    { add_up(sums, indices, dy, count, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_EMBEDDING)
