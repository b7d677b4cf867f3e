// Layer normalization over rows, forward: x is read once where a row fits into its threads' registers.
#include "device/cuda/kernels/layer_norm.cuh"

namespace {

template <class T>
struct Forward {
  T* y;
  Compute<T>*mean, *deviation;
  const T *x, *weight, *bias;
};

template <class T>
__device__ __forceinline__ void normalize(const Forward<T>& tensors, const RowSlots& row, std::uint32_t slot,
                                          std::uint64_t columns, const Vector<T>& x, Compute<T> mean,
                                          Compute<T> deviation) {
  const Vector<T> weight = load_columns(tensors.weight, row, slot, columns);
  const Vector<T> bias = load_columns(tensors.bias, row, slot, columns);
  Vector<T> result;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) {
    result.set(j, (x.get(j) - mean) * deviation * weight.get(j) + bias.get(j));
  }
  store_slot(tensors.y, row, slot, columns, result);
}

template <class T, int Group, int Slots>
__device__ __forceinline__ void forward_held(const Forward<T>& tensors, std::uint64_t rows,
                                             std::uint64_t columns) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;  // no thread may miss a reduction
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> x;
  x.load(tensors.x, row, group.lane, columns, 0);
  C sum = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += x.get(k, j);
  }
  const C mean = reduce_group<Group, Sum>(sum) / static_cast<C>(columns);
  C squares = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      const C distance = own_column<T>(row, group.lane + k * Group, j, columns) ? x.get(k, j) - mean : C(0);
      squares += distance * distance;
    }
  }
  const C variance = reduce_group<Group, Sum>(squares) / static_cast<C>(columns);
  const C deviation = inverse_root(variance + C(kEpsilon));
  if (group.row >= rows) return;
  if (group.lane == 0) {
    tensors.mean[number] = mean;
    tensors.deviation[number] = deviation;
  }
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    const std::uint32_t slot = group.lane + k * Group;
    if (slot >= row.slots) break;
    normalize(tensors, row, slot, columns, x.held[k], mean, deviation);
  }
}

// Squares around the row's first element, which keeps the variance right where the mean is large. Fillers are
// that element too, and taken off the sum.
template <class T, int Group>
__device__ __forceinline__ void forward_streamed(const Forward<T>& tensors, std::uint64_t columns) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const RowSlots row(group.row, columns, kPerVector<T>);
  const C origin = Number<T>::load(tensors.x[group.row * columns]);
  C sum = 0, squares = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> x = load_slot(tensors.x, row, slot, columns, origin);
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      const C distance = x.get(j) - origin;
      sum += x.get(j);
      squares += distance * distance;
    }
  }
  const C fillers = static_cast<C>(row.slots * std::uint64_t{kPerVector<T>} - columns);
  const C mean = (reduce_group<Group, Sum>(sum) - fillers * origin) / static_cast<C>(columns);
  const C shift = mean - origin;
  const C square = reduce_group<Group, Sum>(squares) / static_cast<C>(columns);
  const C deviation = inverse_root(Maximum()(square - shift * shift, C(0)) + C(kEpsilon));
  if (group.lane == 0) {
    tensors.mean[group.row] = mean;
    tensors.deviation[group.row] = deviation;
  }
#pragma unroll 2
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    normalize(tensors, row, slot, columns, load_slot(tensors.x, row, slot, columns, C(0)), mean, deviation);
  }
}

}  // namespace

#define JITTERSCOPE_HELD(T, suffix, Group, Slots, Threads)                           \
  JITTERSCOPE_ENTRY(Threads, layer_norm_forward_##Group##x##Slots##_##suffix,        \
                    (Forward<T> tensors, std::uint64_t rows, std::uint64_t columns), \
                    { forward_held<T, Group, Slots>(tensors, rows, columns); })
#define JITTERSCOPE_KERNELS(T, suffix)                                          \
  JITTERSCOPE_HELD(T, suffix, 8, 4, 256)                                        \
  JITTERSCOPE_HELD(T, suffix, 32, 4, 256)                                       \
  JITTERSCOPE_HELD(T, suffix, 256, 4, 256)                                      \
  JITTERSCOPE_HELD(T, suffix, 512, 4, 512)                                      \
  JITTERSCOPE_ENTRY(512, layer_norm_forward_streamed_##suffix,                  \
                    (Forward<T> tensors, std::uint64_t, std::uint64_t columns), \
                    { forward_streamed<T, 512>(tensors, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
