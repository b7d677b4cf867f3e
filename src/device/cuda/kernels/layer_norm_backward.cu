// Layer normalization, backward: dx = deviation (g - mean(g) - n mean(g n)) with g = dy weight and n the
// normalized x. Where rows are whole vectors and fit into registers, one pass also sums dweight and dbias: a
// thread keeps its columns for all rows of its block.
#include "device/cuda/kernels/layer_norm.cuh"

namespace {

template <class T>
struct Backward {
  T* dx;
  const T *dy, *x, *weight;
  const Compute<T>*mean, *deviation;
  Compute<T>*weight_sums, *bias_sums;  ///< blocks x columns
};

/// The two means over a row that every element of dx needs.
template <class C>
struct RowSums {
  C gradient = 0, product = 0;

  __device__ void add(C g, C normalized) {
    gradient += g;
    product += g * normalized;
  }
  template <int Group>
  __device__ void finish(std::uint64_t columns) {
    gradient = reduce_group<Group, Sum>(gradient) / static_cast<C>(columns);
    product = reduce_group<Group, Sum>(product) / static_cast<C>(columns);
  }
  __device__ C input_gradient(C g, C normalized, C deviation) const {
    return deviation * (g - gradient - normalized * product);
  }
};

// The warps of a block add their sums one after the other, in the same order each time; a group that is the
// whole block has nothing to add.
template <class T, int Group, int Slots>
__device__ __forceinline__ void write_column_sums(const Backward<T>& tensors, std::uint32_t lane,
                                                  std::uint32_t slots, std::uint64_t columns,
                                                  const Compute<T> (&weight)[Slots][kPerVector<T>],
                                                  const Compute<T> (&bias)[Slots][kPerVector<T>]) {
  constexpr int kEach = kPerVector<T>;
  __shared__ Compute<T> kept[2][Group == 32 ? Group * Slots * kEach : 1];
  Compute<T>* sums[2] = {tensors.weight_sums + blockIdx.x * columns,
                         tensors.bias_sums + blockIdx.x * columns};
  const int turns = Group == 32 ? static_cast<int>(blockDim.x) / 32 : 1;
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * Group;
      if (slot >= slots || static_cast<int>(threadIdx.x) / Group != turn) break;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const std::uint32_t column = slot * kEach + j;
        Compute<T>& weight_to = Group == 32 ? kept[0][Group == 32 ? column : 0] : sums[0][column];
        Compute<T>& bias_to = Group == 32 ? kept[1][Group == 32 ? column : 0] : sums[1][column];
        weight_to = turn == 0 ? weight[k][j] : weight_to + weight[k][j];
        bias_to = turn == 0 ? bias[k][j] : bias_to + bias[k][j];
      }
    }
    if (Group == 32) __syncthreads();
  }
  if constexpr (Group == 32) {
    for (std::uint32_t i = threadIdx.x; i < columns; i += blockDim.x) {
      sums[0][i] = kept[0][i];
      sums[1][i] = kept[1][i];
    }
  }
}

template <class T, int Group, int Slots>
__device__ __forceinline__ void backward_fused(const Backward<T>& tensors, std::uint64_t rows,
                                               std::uint64_t columns) {
  using C = Compute<T>;
  constexpr int kEach = kPerVector<T>;
  RowGroup<Group> group;
  const auto slots = static_cast<std::uint32_t>(columns / kEach);
  C weight_sum[Slots][kEach] = {}, bias_sum[Slots][kEach] = {};
  HeldRow<T, Group, Slots> weight;
  weight.load(tensors.weight, RowSlots(0, columns, kEach), group.lane, columns, 0);
  // As many turns for every group: those whose rows have ended still take part in the reductions.
  for (std::uint64_t first = group.row - threadIdx.x / Group; first < rows; first += group.step) {
    const std::uint64_t number = first + threadIdx.x / Group;
    const bool present = number < rows;
    const RowSlots row(present ? number : 0, columns, kEach);
    HeldRow<T, Group, Slots> dy, x;
    dy.load(tensors.dy, row, present ? group.lane : slots, columns, 0);
    x.load(tensors.x, row, present ? group.lane : slots, columns, 0);
    const C mean = present ? tensors.mean[number] : C(0);
    const C deviation = present ? tensors.deviation[number] : C(0);
    RowSums<C> sums;
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C normalized = (x.get(k, j) - mean) * deviation;
        sums.add(dy.get(k, j) * weight.get(k, j), normalized);
        weight_sum[k][j] += dy.get(k, j) * normalized;
        bias_sum[k][j] += dy.get(k, j);
      }
    }
    sums.template finish<Group>(columns);
    if (!present) continue;
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = group.lane + k * Group;
      if (slot >= slots) break;
      Vector<T> result;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C normalized = (x.get(k, j) - mean) * deviation;
        result.set(j, sums.input_gradient(dy.get(k, j) * weight.get(k, j), normalized, deviation));
      }
      result.store(tensors.dx + (row.first_vector + slot) * kEach);
    }
  }
  write_column_sums<T, Group, Slots>(tensors, group.lane, slots, columns, weight_sum, bias_sum);
}

// dx alone, for any row: the sums over columns take a kernel of their own.
template <class T, int Group>
__device__ __forceinline__ void backward_streamed(const Backward<T>& tensors, std::uint64_t columns) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const RowSlots row(group.row, columns, kPerVector<T>);
  const C mean = tensors.mean[group.row];
  const C deviation = tensors.deviation[group.row];
  RowSums<C> sums;
#pragma unroll 2
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> dy = load_slot(tensors.dy, row, slot, columns, C(0));
    const Vector<T> x = load_slot(tensors.x, row, slot, columns, C(0));
    const Vector<T> weight = load_columns(tensors.weight, row, slot, columns);
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      sums.add(dy.get(j) * weight.get(j), (x.get(j) - mean) * deviation);
    }
  }
  sums.template finish<Group>(columns);
#pragma unroll 2
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> dy = load_slot(tensors.dy, row, slot, columns, C(0));
    const Vector<T> x = load_slot(tensors.x, row, slot, columns, C(0));
    const Vector<T> weight = load_columns(tensors.weight, row, slot, columns);
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      const C normalized = (x.get(j) - mean) * deviation;
      result.set(j, sums.input_gradient(dy.get(j) * weight.get(j), normalized, deviation));
    }
    store_slot(tensors.dx, row, slot, columns, result);
  }
}

}  // namespace

#define JITTERSCOPE_FUSED(T, suffix, Group, Slots, Threads)                           \
  JITTERSCOPE_ENTRY(Threads, layer_norm_backward_##Group##x##Slots##_##suffix,        \
                    (Backward<T> tensors, std::uint64_t rows, std::uint64_t columns), \
                    { backward_fused<T, Group, Slots>(tensors, rows, columns); })
// One vector for each thread where it can be: two take 116 registers.
#define JITTERSCOPE_KERNELS(T, suffix)                                           \
  JITTERSCOPE_FUSED(T, suffix, 32, 1, 256)                                       \
  JITTERSCOPE_FUSED(T, suffix, 32, 2, 256)                                       \
  JITTERSCOPE_FUSED(T, suffix, 128, 1, 128)                                      \
  JITTERSCOPE_FUSED(T, suffix, 256, 1, 256)                                      \
  JITTERSCOPE_FUSED(T, suffix, 512, 1, 512)                                      \
  JITTERSCOPE_FUSED(T, suffix, 512, 2, 512)                                      \
  JITTERSCOPE_ENTRY(256, layer_norm_backward_streamed_##suffix,                  \
                    (Backward<T> tensors, std::uint64_t, std::uint64_t columns), \
                    { backward_streamed<T, 256>(tensors, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
