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

/// Sums of `Count` numbers over a group, by one barrier where it is a block. Rows in use turns of memory.
template <int Group, int Count, class C>
__device__ __forceinline__ void reduce_all(C (&values)[Count], int turn) {
  constexpr int kWarps = Group / 32;
#pragma unroll
  for (int i = 0; i < Count; ++i) values[i] = reduce_lanes<32, Sum>(values[i]);
  if constexpr (kWarps > 1) {
    __shared__ C kept[2][Count][kWarps];
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < Count; ++i) kept[turn][i][threadIdx.x / 32] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      values[i] = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) values[i] += kept[turn][i][warp];
    }
  }
}

/// A row of dy and x in registers.
template <class T, int Group, int Slots>
struct RowPair {
  using C = Compute<T>;
  HeldRow<T, Group, Slots> dy, x;
  C mean, deviation;

  __device__ __forceinline__ void load(const Backward<T>& tensors, std::uint64_t number, std::uint64_t rows,
                                       std::uint32_t lane, std::uint64_t columns) {
    const RowSlots row(number, columns, kPerVector<T>);
    dy.load(tensors.dy, rows, row, lane, columns, 0);
    x.load(tensors.x, rows, row, lane, columns, 0);
    mean = tensors.mean[number];
    deviation = tensors.deviation[number];
  }
  __device__ C normalized(int k, int j) const { return (x.get(k, j) - mean) * deviation; }
};

/// A thread's columns: their weights, and the sums over all rows that its group comes by.
template <class T, int Group, int Slots>
struct OwnColumns {
  using C = Compute<T>;
  static constexpr int kEach = kPerVector<T>;
  std::uint32_t lane, slots;
  HeldRow<T, Group, Slots> weight;
  C weight_sum[Slots][kEach] = {}, bias_sum[Slots][kEach] = {};

  __device__ __forceinline__ OwnColumns(const T* weights, std::uint32_t own_lane, std::uint64_t columns)
      : lane(own_lane), slots(static_cast<std::uint32_t>(columns / kEach)) {
    weight.load(weights, 1, RowSlots(0, columns, kEach), lane, columns, 0);
  }
  __device__ __forceinline__ void add(const RowPair<T, Group, Slots>& row, C& gradient, C& product) {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      if (lane + k * Group >= slots) break;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C dy = row.dy.get(k, j), normalized = row.normalized(k, j);
        gradient += dy * weight.get(k, j);
        product += dy * weight.get(k, j) * normalized;
        weight_sum[k][j] += dy * normalized;
        bias_sum[k][j] += dy;
      }
    }
  }
  __device__ __forceinline__ void write(T* dx, const RowPair<T, Group, Slots>& row,
                                        const RowSums<C>& means) const {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * Group;
      if (slot >= slots) break;
      Vector<T> result;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C g = row.dy.get(k, j) * weight.get(k, j);
        result.set(j, means.input_gradient(g, row.normalized(k, j), row.deviation));
      }
      result.store(dx + slot * kEach);
    }
  }
};

// Rows rows at once, all of which are read before the first is used.
template <class T, int Group, int Slots, int Rows>
__device__ __forceinline__ void backward_fused(const Backward<T>& tensors, std::uint64_t rows,
                                               std::uint64_t columns) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  OwnColumns<T, Group, Slots> own(tensors.weight, group.lane, columns);
  int turn = 0;
  for (std::uint64_t first = group.row; first < rows; first += Rows * group.step, turn ^= 1) {
    RowPair<T, Group, Slots> pairs[Rows];
    C sums[2 * Rows] = {};
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const std::uint64_t number = first + r * group.step;
      if (number < rows) pairs[r].load(tensors, number, rows, group.lane, columns);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (first + r * group.step < rows) own.add(pairs[r], sums[2 * r], sums[2 * r + 1]);
    }
    reduce_all<Group>(sums, turn);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const std::uint64_t number = first + r * group.step;
      if (number >= rows) break;
      const RowSums<C> means{sums[2 * r] / static_cast<C>(columns),
                             sums[2 * r + 1] / static_cast<C>(columns)};
      own.write(tensors.dx + number * columns, pairs[r], means);
    }
  }
  write_column_sums<T, Group, Slots>(tensors, group.lane, own.slots, columns, own.weight_sum, own.bias_sum);
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

#define JITTERSCOPE_FUSED(ENTRY, T, suffix, Group, Slots, Rows, Threads)  \
  ENTRY(Threads, layer_norm_backward_##Group##x##Slots##_##suffix,        \
        (Backward<T> tensors, std::uint64_t rows, std::uint64_t columns), \
        { backward_fused<T, Group, Slots, Rows>(tensors, rows, columns); })
#define JITTERSCOPE_KERNELS(T, suffix)                                           \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 32, 1, 2, 256)                 \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 32, 2, 1, 256)                 \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 96, 1, 2, 96)                  \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 128, 1, 2, 128)                \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 192, 1, 2, 192)                \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 256, 1, 2, 256)                \
  JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, T, suffix, 512, 2, 1, 512)                \
  JITTERSCOPE_ENTRY(256, layer_norm_backward_streamed_##suffix,                  \
                    (Backward<T> tensors, std::uint64_t, std::uint64_t columns), \
                    { backward_streamed<T, 256>(tensors, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
// 4096 columns of 16 bits: with two rows at once, and so one block on an SM, this ran at 55 % of the copy's
// bandwidth; a kernel before this one, with one row and two blocks, at 69 % (H200).
JITTERSCOPE_FUSED(JITTERSCOPE_ENTRY, double, f64, 512, 1, 1, 512)
JITTERSCOPE_FUSED(JITTERSCOPE_PAIRED_ENTRY, float, f32, 512, 1, 1, 512)
JITTERSCOPE_FUSED(JITTERSCOPE_PAIRED_ENTRY, __half, f16, 512, 1, 1, 512)
JITTERSCOPE_FUSED(JITTERSCOPE_PAIRED_ENTRY, __nv_bfloat16, bf16, 512, 1, 1, 512)
