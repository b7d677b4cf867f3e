// Softmax and its logarithm over rows. A row that fits into the registers of its threads is read once; a
// longer one twice, the second time mostly from the cache.
#include "device/cuda/kernels/row_group.cuh"

namespace {

__device__ __forceinline__ float exponential(float x) { return __expf(x); }  // x <= 0 here: to 2 units + |x|
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float logarithm_of(float x) { return logf(x); }
__device__ __forceinline__ double logarithm_of(double x) { return log(x); }

/// What the elements of a row need to know of it.
template <class C>
struct Normalizer {
  C maximum, factor;  ///< 1/sum; for the logarithm log(sum)

  __device__ Normalizer(C largest, C sum, bool logarithm)
      : maximum(largest), factor(logarithm ? logarithm_of(sum) : C(1) / sum) {}
  __device__ C apply(C x, bool logarithm) const {
    return logarithm ? x - maximum - factor : exponential(x - maximum) * factor;
  }
};

template <class T, int Group, int Slots>
__device__ __forceinline__ void forward_held(T* __restrict__ y, const T* __restrict__ x, std::uint64_t rows,
                                             std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;  // no thread may miss a reduction
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> values;
  values.load(x, row, group.lane, columns, -INFINITY);
  C largest = -INFINITY;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) largest = Maximum()(largest, values.get(k, j));
  }
  largest = reduce_group<Group, Maximum>(largest);
  C sum = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += exponential(values.get(k, j) - largest);
  }
  const Normalizer<C> normalizer(largest, reduce_group<Group, Sum>(sum), logarithm);
  if (group.row >= rows) return;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    const std::uint32_t slot = group.lane + k * Group;
    if (slot >= row.slots) break;
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) result.set(j, normalizer.apply(values.get(k, j), logarithm));
    store_slot(y, row, slot, columns, result);
  }
}

// Maximum and sum in one pass: the sum is scaled down whenever a larger element comes.
template <class T, int Group>
__device__ __forceinline__ void forward_streamed(T* __restrict__ y, const T* __restrict__ x,
                                                 std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const RowSlots row(group.row, columns, kPerVector<T>);
  C largest = -INFINITY, sum = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> v = load_slot(x, row, slot, columns, -INFINITY);
    C here = -INFINITY;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) here = Maximum()(here, v.get(j));
    if (here > largest) {
      sum *= exponential(largest - here);
      largest = here;
    }
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      if (v.get(j) != C(-INFINITY)) sum += exponential(v.get(j) - largest);
    }
  }
  const C overall = reduce_group<Group, Maximum>(largest);
  if (sum != C(0)) sum *= exponential(largest - overall);
  const Normalizer<C> normalizer(overall, reduce_group<Group, Sum>(sum), logarithm);
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> v = load_slot(x, row, slot, columns, -INFINITY);
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) result.set(j, normalizer.apply(v.get(j), logarithm));
    store_slot(y, row, slot, columns, result);
  }
}

// dx = y (dy - sum(dy y)), and of the logarithm dy - e^y sum(dy).
template <class C>
__device__ __forceinline__ C term(C dy, C y, bool logarithm) {
  return logarithm ? dy : dy * y;
}
template <class C>
__device__ __forceinline__ C gradient(C dy, C y, C sum, bool logarithm) {
  return logarithm ? dy - exponential(y) * sum : y * (dy - sum);
}
template <class T>
__device__ __forceinline__ Vector<T> gradients(const Vector<T>& dy, const Vector<T>& y, Compute<T> sum,
                                               bool logarithm) {
  Vector<T> result;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) result.set(j, gradient(dy.get(j), y.get(j), sum, logarithm));
  return result;
}

template <class T, int Group, int Slots>
__device__ __forceinline__ void backward_held(T* __restrict__ dx, const T* __restrict__ dy,
                                              const T* __restrict__ y, std::uint64_t rows,
                                              std::uint64_t columns, bool logarithm) {
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> outer, result;
  outer.load(dy, row, group.lane, columns, 0);
  result.load(y, row, group.lane, columns, 0);
  Compute<T> sum = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += term(outer.get(k, j), result.get(k, j), logarithm);
  }
  sum = reduce_group<Group, Sum>(sum);
  if (group.row >= rows) return;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    const std::uint32_t slot = group.lane + k * Group;
    if (slot >= row.slots) break;
    store_slot(dx, row, slot, columns, gradients(outer.held[k], result.held[k], sum, logarithm));
  }
}

template <class T, int Group>
__device__ __forceinline__ void backward_streamed(T* __restrict__ dx, const T* __restrict__ dy,
                                                  const T* __restrict__ y, std::uint64_t columns,
                                                  bool logarithm) {
  const RowGroup<Group> group;
  const RowSlots row(group.row, columns, kPerVector<T>);
  Compute<T> sum = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> outer = load_slot(dy, row, slot, columns, 0);
    const Vector<T> result = load_slot(y, row, slot, columns, 0);
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += term(outer.get(j), result.get(j), logarithm);
  }
  sum = reduce_group<Group, Sum>(sum);
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> outer = load_slot(dy, row, slot, columns, 0);
    const Vector<T> result = load_slot(y, row, slot, columns, 0);
    store_slot(dx, row, slot, columns, gradients(outer, result, sum, logarithm));
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
#define JITTERSCOPE_KERNELS(T, suffix)                                                                       \
  JITTERSCOPE_HELD(T, suffix, 8, 4, 256)                                                                     \
  JITTERSCOPE_HELD(T, suffix, 32, 4, 256)                                                                    \
  JITTERSCOPE_HELD(T, suffix, 256, 4, 256)                                                                   \
  JITTERSCOPE_HELD(T, suffix, 512, 4, 512)                                                                   \
  JITTERSCOPE_ENTRY(512, softmax_forward_streamed_##suffix,                                                  \
                    (T * y, const T* x, std::uint64_t, std::uint64_t columns, bool logarithm),               \
                    { forward_streamed<T, 512>(y, x, columns, logarithm); })                                 \
  JITTERSCOPE_ENTRY(512, softmax_backward_streamed_##suffix,                                                 \
                    (T * dx, const T* dy, const T* y, std::uint64_t, std::uint64_t columns, bool logarithm), \
                    { backward_streamed<T, 512>(dx, dy, y, columns, logarithm); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
