// Layer normalization over rows that fit into the registers of their threads, forward: x is read once.
#include "device/cuda/kernels/layer_norm.cuh"

namespace {

/// Squares around the mean of the group, or of each of its warps, which join afterwards.
template <class T, int Group, int Slots>
__device__ __forceinline__ Spread<Compute<T>> spread_of(const HeldRow<T, Group, Slots>& x,
                                                        const RowSlots& row, std::uint32_t lane,
                                                        std::uint64_t columns) {
  using C = Compute<T>;
  constexpr int kLanes = Group < 32 ? Group : 32;
  C sum = 0, count = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!x.has(row, lane, k)) break;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += x.get(k, j);
    count += static_cast<C>(x.own(row, lane, k, columns));
  }
  sum = reduce_lanes<kLanes, Sum>(sum);
  count = Group > 32 ? reduce_lanes<kLanes, Sum>(count) : static_cast<C>(columns);
  const C mean = count > C(0) ? sum / count : C(0);
  C squares = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!x.has(row, lane, k)) break;
    const bool whole = x.own(row, lane, k, columns) == kPerVector<T>;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) {
      const C distance = x.get(k, j) - mean;
      if (whole || x.owns(row, lane, k, j, columns)) squares += distance * distance;
    }
  }
  Spread<C> result{sum, reduce_lanes<kLanes, Sum>(squares), count};
  if constexpr (Group > 32) result.template join_warps<Group / 32>();
  return result;
}

template <class T, int Group, int Slots>
__device__ __forceinline__ void forward_held(const Forward<T>& tensors, std::uint64_t rows,
                                             std::uint64_t columns) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const std::uint64_t number = group.row < rows ? group.row : rows - 1;  // no thread may miss a reduction
  const RowSlots row(number, columns, kPerVector<T>);
  HeldRow<T, Group, Slots> x;
  x.load(tensors.x, rows, row, group.lane, columns, 0);
  const Moments<C> moments = spread_of(x, row, group.lane, columns).moments();
  if (group.row >= rows) return;
  if (group.lane == 0) moments.store(tensors, number);
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    const std::uint32_t slot = group.lane + k * Group;
    if (slot >= row.slots) break;
    const Vector<T> weight = load_columns(tensors.weight, row, slot, columns);
    const Vector<T> bias = load_columns(tensors.bias, row, slot, columns);
    store_slot(tensors.y, row, slot, columns, moments.normalized(x.held[k], weight, bias));
  }
}

}  // namespace

#define JITTERSCOPE_HELD(T, suffix, Group, Slots, Threads)                           \
  JITTERSCOPE_ENTRY(Threads, layer_norm_forward_##Group##x##Slots##_##suffix,        \
                    (Forward<T> tensors, std::uint64_t rows, std::uint64_t columns), \
                    { forward_held<T, Group, Slots>(tensors, rows, columns); })
#define JITTERSCOPE_KERNELS(T, suffix) JITTERSCOPE_HELD_ROWS(JITTERSCOPE_HELD, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
