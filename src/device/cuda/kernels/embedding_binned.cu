// The gradient added back to the rows of a table that indices name, where many rows are named by few of them
// each: see BinnedEmbedding. Each row of the table is written once, and each of dy is read as a whole.
#include "device/cuda/kernels/embedding_bins.cuh"
#include "device/cuda/kernels/embedding_sums.cuh"
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::BinnedEmbedding;
using jitterscope::cuda::kBin;
using jitterscope::cuda::kLanes;

/// A row and, of some lanes, the position of an index that names it.
struct NamedRow {
  std::uint64_t row;
  std::uint32_t position, lanes;
  std::uint32_t count;  ///< of all indices of the row, in other warps' hands too

  /// The position of the next of `left`, which is not empty.
  __device__ std::uint64_t take(std::uint32_t& left) const {
    const int lane = __ffs(static_cast<int>(left)) - 1;
    left &= left - 1;
    return __shfl_sync(~0u, position, lane);
  }
};

/// Calls visit(named) for the rows of a warp, and for each row of its part of the indices left over.
template <class Visit>
__device__ __forceinline__ void for_each_named_row(const RowBins& bins, const BinnedEmbedding& shape,
                                                   Visit visit) {
  const std::uint32_t lane = threadIdx.x % kLanes;
  const std::uint64_t warp = first_index() / kLanes, warps = index_step() / kLanes;
  if (first_index() == 0) bins.totals[0] = bins.totals[1] = 0;
  for (std::uint64_t row = warp; row < shape.rows; row += warps) {
    const std::uint32_t mine = bins.bins[row * kLanes + lane], count = __shfl_sync(~0u, mine, 0);
    visit(NamedRow{row, mine, (2u << (count < kBin ? count : kBin)) - 2, count});
    if (lane == 0 && count <= kBin) bins.count(row) = 0;
  }
  for (std::uint64_t part = warp; part < shape.parts; part += warps) {
    if (bins.left_over[part * kLanes].row_and_one == 0) return;
    const LeftOver mine = bins.left_over[part * kLanes + lane];
    std::uint32_t left = __ballot_sync(~0u, mine.row_and_one != 0);
    bins.left_over[part * kLanes + lane].row_and_one = 0;
    while (left != 0) {
      const std::uint32_t other = __shfl_sync(~0u, mine.row_and_one, __ffs(static_cast<int>(left)) - 1);
      const std::uint32_t same = __ballot_sync(~0u, mine.row_and_one == other);
      // One lane's: the others could read it when it is cleared already.
      const std::uint32_t count = __shfl_sync(~0u, bins.count(other - 1), 0);
      visit(NamedRow{other - 1u, mine.position, same, count});
      left &= ~same;
    }
  }
}

/// The groups of columns that a lane takes of a chunk: at most `Most`.
template <int Most>
struct LaneGroups {
  std::uint32_t first;
  bool has[Most];

  __device__ LaneGroups(const BinnedEmbedding& shape, std::uint32_t chunk)
      : first(chunk + threadIdx.x % kLanes) {
#pragma unroll
    for (int k = 0; k < Most; ++k)
      has[k] = k < static_cast<int>(shape.each) && first + k * kLanes < shape.groups;
  }
};

/// What one access reads, zero at first. A vector in its words: half as many registers as its 16-bit numbers.
template <class T, int V>
struct Read {
  Vector<T> value;
  /// Nobody reads it again: the cache keeps the bins before it, which are written just before.
  __device__ void load(const T* from) {
#ifdef __CUDA_ARCH__
    value.whole = __ldcs(reinterpret_cast<const uint4*>(from));
#else
    value = Vector<T>(from);
#endif
  }
  __device__ Compute<T> get(int j) const { return value.get(j); }
};
template <class T>
struct Read<T, 1> {
  T value = T();
  __device__ void load(const T* from) { value = *from; }
  __device__ Compute<T> get(int) const { return Number<T>::load(value); }
};

/// Adds the next few rows of dy, all of them in flight.
template <class T, int V, int Most>
__device__ __forceinline__ void add_rows(Compute<T> (&sums)[Most][V], const T* __restrict__ dy,
                                         const NamedRow& named, std::uint32_t& left, std::uint64_t columns,
                                         const LaneGroups<Most>& mine) {
  constexpr int kInFlight = BinnedEmbedding::kRowsInFlight;
  Read<T, V> values[kInFlight][Most];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
    if (left == 0) break;
    const T* const from = dy + named.take(left) * columns + std::uint64_t{mine.first} * V;
#pragma unroll
    for (int k = 0; k < Most; ++k) {
      if (mine.has[k]) values[i][k].load(from + k * kLanes * V);
    }
  }
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
#pragma unroll
    for (int k = 0; k < Most; ++k) {
#pragma unroll
      for (int j = 0; j < V; ++j) sums[k][j] += values[i][k].get(j);
    }
  }
}

/// Writes the sum of a group. Where other warps have indices of the row as well, whoever comes last does,
/// with the sum of all; and after the row's last group it clears the count, which all of them have read.
template <class T, int V>
__device__ __forceinline__ void finish(T* __restrict__ dtable, Compute<T> (&sum)[V], const NamedRow& named,
                                       std::uint32_t group, const RowBins& bins, const SharedSums<T>& shared,
                                       const BinnedEmbedding& shape) {
  if (named.count > kBin) {
    const std::uint64_t place = std::uint64_t{bins.places[named.row]} * shape.groups + group;
    if (!shared.join(place, __popc(named.lanes), named.count, sum)) return;
    if (group == shape.groups - 1) bins.count(named.row) = 0;
  }
  Pack<T, V> total;
#pragma unroll
  for (int j = 0; j < V; ++j) total.set(j, sum[j]);
  total.store_once(dtable + named.row * shape.columns + std::uint64_t{group} * V);
}

template <class T, int V>
__device__ __forceinline__ void add_up_binned(T* __restrict__ dtable, const T* __restrict__ dy,
                                              const RowBins& bins, const SharedSums<T>& shared,
                                              const BinnedEmbedding& shape) {
  constexpr int kMost = BinnedEmbedding::kMostEach;
  for_each_named_row(bins, shape, [&](const NamedRow& named) {
    for (std::uint32_t chunk = 0; chunk < shape.groups; chunk += shape.each * kLanes) {
      const LaneGroups<kMost> mine(shape, chunk);
      Compute<T> sums[kMost][V] = {};
      for (std::uint32_t left = named.lanes; left != 0;) {
        add_rows(sums, dy, named, left, shape.columns, mine);
      }
#pragma unroll
      for (int k = 0; k < kMost; ++k) {
        if (mine.has[k]) finish(dtable, sums[k], named, mine.first + k * kLanes, bins, shared, shape);
      }
    }
  });
}

}  // namespace

#define JITTERSCOPE_WIDTH(T, suffix, width, V)                                              \
  JITTERSCOPE_ROOM_ENTRY(                                                                   \
      128, 5, embedding_backward_binned_##width##_##suffix,                                 \
      (T * dtable, const T* dy, RowBins bins, SharedSums<T> shared, BinnedEmbedding shape), \
      { add_up_binned<T, V>(dtable, dy, bins, shared, shape); })
// 524288 indices of 50257 rows of 768 columns in 16 bits: 215 us, and 15 for the bins; 313 us in all with one
// group of a lane at a time for three (H200).
#define JITTERSCOPE_KERNELS(T, suffix)    \
  JITTERSCOPE_WIDTH(T, suffix, single, 1) \
  JITTERSCOPE_WIDTH(T, suffix, vector, (kPerVector<T>))
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
