// Layer normalization, backward: dx = deviation (g - mean(g) - n mean(g n)) with g = dy weight and n the
// normalized x. Where rows are whole vectors and fit into registers, one pass also sums dweight and dbias: a
// thread keeps its columns for all rows of its block.
#include "device/cuda/kernels/async_copy.cuh"
#include "device/cuda/kernels/layer_norm_backward.cuh"

namespace {

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

/// The next rows of dy and x that a group comes by, on their way to shared memory: `Stages` of them, each
/// thread's own vectors.
template <class T, int Slots, int Threads, int Stages>
struct RowRing {
  uint4* own;  ///< the thread's first vector
  int stage = 0;

  static constexpr int kVectors = Stages * 2 * Slots * Threads;

  __device__ explicit RowRing(uint4* memory) : own(memory + threadIdx.x) {}
  __device__ uint4* at(int tensor, int k) const { return own + ((stage * 2 + tensor) * Slots + k) * Threads; }
  __device__ __forceinline__ void start(const Backward<T>& tensors, std::uint64_t row, std::uint64_t columns,
                                        std::uint32_t lane, std::uint32_t slots, int group) const {
    const std::uint64_t begin = row * columns;
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * group;
      if (slot >= slots) break;
      start_copy(at(0, k), tensors.dy + begin + slot * kPerVector<T>);
      start_copy(at(1, k), tensors.x + begin + slot * kPerVector<T>);
    }
  }
  /// Where the row has no vector for the thread.
  __device__ __forceinline__ void clear(std::uint32_t lane, std::uint32_t slots, int group) const {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      if (lane + k * group >= slots) *at(0, k) = *at(1, k) = uint4{0, 0, 0, 0};
    }
  }
  __device__ __forceinline__ void next() { stage = stage + 1 < Stages ? stage + 1 : 0; }
  __device__ Vector<T> dy(int k) const { return vector_at<T>(at(0, k)); }
  __device__ Vector<T> x(int k) const { return vector_at<T>(at(1, k)); }
};

/// A row of dy and x in registers, which leaves the place in shared memory to another.
template <class T, int Slots>
struct HeldPair {
  Vector<T> held[2][Slots];

  template <class Ring>
  __device__ __forceinline__ explicit HeldPair(const Ring& ring) {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      held[0][k] = ring.dy(k);
      held[1][k] = ring.x(k);
    }
  }
  __device__ const Vector<T>& dy(int k) const { return held[0][k]; }
  __device__ const Vector<T>& x(int k) const { return held[1][k]; }
};

/// A thread's columns: their weights, and the sums over all rows that its group comes by.
template <class T, int Group, int Slots>
struct OwnColumns {
  using C = Compute<T>;
  static constexpr int kEach = kPerVector<T>;
  std::uint32_t lane, slots;
  Vector<T> weight[Slots];
  C weight_sum[Slots][kEach] = {}, bias_sum[Slots][kEach] = {};

  __device__ __forceinline__ OwnColumns(const T* weights, std::uint32_t own_lane, std::uint64_t columns)
      : lane(own_lane), slots(static_cast<std::uint32_t>(columns / kEach)) {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      if (lane + k * Group < slots) weight[k] = Vector<T>(weights + (lane + k * Group) * kEach);
    }
  }
  /// Adds to the columns' sums and to those over the row, of g and of g n. Where the row has no vector, dy
  /// and x are zero and add nothing.
  template <class Pair>
  __device__ __forceinline__ void add(const Pair& row, const Moments<C>& moments, C (&sums)[2]) {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const Vector<T> outer = row.dy(k), x = row.x(k);
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C dy = outer.get(j), product = dy * moments.template standardized_of<T>(x.get(j));
        sums[0] += dy * weight[k].get(j);
        sums[1] += product * weight[k].get(j);
        weight_sum[k][j] += product;
        bias_sum[k][j] += dy;
      }
    }
  }
  template <class Pair>
  __device__ __forceinline__ void write(T* dx, const Pair& row, const Moments<C>& moments,
                                        const RowSums<C>& means) const {
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * Group;
      const Vector<T> outer = row.dy(k), x = row.x(k);
      Vector<T> result;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const C g = outer.get(j) * weight[k].get(j);
        result.set(j, means.template input_gradient_of<T>(g, x.get(j), moments));
      }
      if (slot < slots) result.store(dx + slot * kEach);
    }
  }
};

/// Writes numbers, or adds them to what is there.
template <class C, int N>
__device__ __forceinline__ void add_numbers(C* to, const C (&numbers)[N], bool add) {
  C all[N] = {};
  if (add) load_numbers(to, all);
#pragma unroll
  for (int i = 0; i < N; ++i) all[i] += numbers[i];
  store_numbers(to, all);
}

// The warps of a block add their sums one after the other, in the same order each time; a group that is the
// whole block has nothing to add. `kept` is shared memory for a row. Number by number, a warp's store would
// touch 32 sectors for 4 bytes of each: 16 bits have 8 columns side by side in a thread.
template <class T, int Group, int Slots>
__device__ __forceinline__ void write_column_sums(const Backward<T>& tensors,
                                                  const OwnColumns<T, Group, Slots>& own,
                                                  std::uint64_t columns, Compute<T>* kept) {
  using C = Compute<T>;
  constexpr int kEach = kPerVector<T>, kTurns = Group == 32;
  C* sums[2] = {tensors.weight_sums + blockIdx.x * columns, tensors.bias_sums + blockIdx.x * columns};
  const int turns = kTurns ? static_cast<int>(blockDim.x) / 32 : 1;
  C* const to[2] = {kTurns ? kept : sums[0], kTurns ? kept + columns : sums[1]};
  for (int turn = 0; turn < turns; ++turn) {
    if (kTurns) __syncthreads();
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = own.lane + k * Group;
      if (slot >= own.slots || static_cast<int>(threadIdx.x) / Group != turn) break;
      add_numbers(to[0] + slot * kEach, own.weight_sum[k], turn > 0);
      add_numbers(to[1] + slot * kEach, own.bias_sum[k], turn > 0);
    }
  }
  if constexpr (kTurns) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < columns; i += blockDim.x) {
      sums[0][i] = kept[i];
      sums[1][i] = kept[columns + i];
    }
  }
}

// While a row is worked on, the next ones are on their way. `Held`: it is kept in registers meanwhile, else
// read from shared memory twice.
template <class T, int Group, int Slots, int Threads, int Stages, bool Held>
__device__ __forceinline__ void backward_fused(const Backward<T>& tensors, std::uint64_t rows,
                                               std::uint64_t columns) {
  using C = Compute<T>;
  using Ring = RowRing<T, Slots, Threads, Stages>;
  __shared__ uint4 memory[Ring::kVectors];
  const RowGroup<Group> group;
  OwnColumns<T, Group, Slots> own(tensors.weight, group.lane, columns);
  Ring ring(memory);
  for (int stage = 0; stage < Stages; ++stage, ring.next()) {
    const std::uint64_t row = group.row + stage * group.step;
    ring.clear(own.lane, own.slots, Group);
    if (row < rows) ring.start(tensors, row, columns, own.lane, own.slots, Group);
    end_copies();
  }
  Moments<C> ahead{};
  if (group.row < rows) ahead = {tensors.mean[group.row], tensors.deviation[group.row]};
  int turn = 0;
  for (std::uint64_t row = group.row; row < rows; row += group.step, turn ^= 1, ring.next()) {
    const Moments<C> moments = ahead;
    const std::uint64_t after = row + group.step, later = row + Stages * group.step;
    if (after < rows) ahead = {tensors.mean[after], tensors.deviation[after]};
    wait_for_copies<Stages - 1>();
    C sums[2] = {};
    const auto work = [&](const auto& pair) {
      own.add(pair, moments, sums);
      reduce_all<Group>(sums, turn);
      const RowSums<C> means{sums[0] / static_cast<C>(columns), sums[1] / static_cast<C>(columns)};
      own.write(tensors.dx + row * columns, pair, moments, means);
    };
    if constexpr (Held) {
      const HeldPair<T, Slots> pair(ring);
      if (later < rows) ring.start(tensors, later, columns, own.lane, own.slots, Group);
      end_copies();
      work(pair);
    } else {
      work(ring);
      if (later < rows) ring.start(tensors, later, columns, own.lane, own.slots, Group);
      end_copies();
    }
  }
  write_column_sums(tensors, own, columns, reinterpret_cast<C*>(memory));
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

#define JITTERSCOPE_FUSED(T, suffix, Group, Slots, Threads, Stages, Held, together)                        \
  JITTERSCOPE_ROOM_ENTRY(Threads, together, layer_norm_backward_##Group##x##Slots##_##suffix,              \
                         (Backward<T> tensors, std::uint64_t rows, std::uint64_t columns), {               \
                           backward_fused<T, Group, Slots, Threads, Stages, Held>(tensors, rows, columns); \
                         })
// What was fast in all types on an H200, of 1 to 6 stages with and without a row in registers. 768 columns
// take 1208 us in f32 and 604 us in bf16 (524288 rows; without rows on their way 1497 and, f16, 694), 4096
// columns 1550 and 832 us (131072 rows; 1754 and 1122).
#define JITTERSCOPE_KERNELS(T, suffix)                                           \
  JITTERSCOPE_FUSED(T, suffix, 32, 1, 256, 2, true, 4)                           \
  JITTERSCOPE_FUSED(T, suffix, 32, 2, 256, 1, false, 3)                          \
  JITTERSCOPE_FUSED(T, suffix, 32, 3, 128, 1, false, 4)                          \
  JITTERSCOPE_FUSED(T, suffix, 128, 1, 128, 3, true, 7)                          \
  JITTERSCOPE_FUSED(T, suffix, 192, 1, 192, 3, true, 5)                          \
  JITTERSCOPE_FUSED(T, suffix, 256, 1, 256, 3, false, 4)                         \
  JITTERSCOPE_FUSED(T, suffix, 128, 4, 128, 1, false, 4)                         \
  JITTERSCOPE_FUSED(T, suffix, 256, 4, 256, 1, false, 2)                         \
  JITTERSCOPE_ENTRY(256, layer_norm_backward_streamed_##suffix,                  \
                    (Backward<T> tensors, std::uint64_t, std::uint64_t columns), \
                    { backward_streamed<T, 256>(tensors, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
