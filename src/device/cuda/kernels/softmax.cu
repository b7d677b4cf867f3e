// Softmax and its logarithm over rows that fit into the registers of their threads: each is read once.
#include "device/cuda/kernels/softmax.cuh"

namespace {

template <class T, int Group, int Slots>
__device__ __forceinline__ void forward_held(T* __restrict__ y, const T* __restrict__ x, std::uint64_t rows,
                                             std::uint64_t columns, bool logarithm) {
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;  // no thread may miss a reduction
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> values;
  values.load(x, rows, row, group.lane, columns, -INFINITY);
  const Normalizer<Compute<T>> normalizer(exponentials_of(values, row, group.lane), logarithm);
  if (group.row >= rows) return;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!values.has(row, group.lane, k)) break;
    store_slot(y, row, group.lane + k * Group, columns, normalized(values.held[k], normalizer, logarithm));
  }
}

template <class T, int Group, int Slots>
__device__ __forceinline__ void backward_held(T* __restrict__ dx, const T* __restrict__ dy,
                                              const T* __restrict__ y, std::uint64_t rows,
                                              std::uint64_t columns, bool logarithm) {
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> outer, result;
  outer.load(dy, rows, row, group.lane, columns, 0);
  result.load(y, rows, row, group.lane, columns, 0);
  Compute<T> sum = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!outer.has(row, group.lane, k)) break;
    sum += terms(outer.held[k], result.held[k], logarithm);
  }
  sum = reduce_group<Group, Sum>(sum);
  if (group.row >= rows) return;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!outer.has(row, group.lane, k)) break;
    store_slot(dx, row, group.lane + k * Group, columns,
               gradients(outer.held[k], result.held[k], sum, logarithm));
  }
}

}  // namespace

#define JITTERSCOPE_HELD(T, suffix, Group, Slots, Threads)                                          \
  JITTERSCOPE_ENTRY(Threads, softmax_forward_##Group##x##Slots##_##suffix,                          \
                    (T * y, const T* x, std::uint64_t rows, std::uint64_t columns, bool logarithm), \
                    { forward_held<T, Group, Slots>(y, x, rows, columns, logarithm); })             \
  JITTERSCOPE_ENTRY(                                                                                \
      Threads, softmax_backward_##Group##x##Slots##_##suffix,                                       \
      (T * dx, const T* dy, const T* y, std::uint64_t rows, std::uint64_t columns, bool logarithm), \
      { backward_held<T, Group, Slots>(dx, dy, y, rows, columns, logarithm); })
#define JITTERSCOPE_KERNELS(T, suffix) JITTERSCOPE_HELD_ROWS(JITTERSCOPE_HELD, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
