// Sorts the indices of an embedding by the row that they name, in three steps: count, place, sort. Rows stand
// in no particular order, nor do the indices of one. Or puts them into bins, in one.
#include "device/cuda/kernels/embedding_bins.cuh"

namespace {

using jitterscope::cuda::kBin;
using jitterscope::cuda::SortedEmbedding;

__device__ __forceinline__ std::uint32_t lanes_below() { return (1u << threadIdx.x % 32) - 1; }

// Lanes that name one row count it together: all 524288 indices equal would else be as many atomic adds in
// one place.
__device__ __forceinline__ void count_indices(const EmbeddingBins& bins, const std::int64_t* indices,
                                              std::uint64_t count) {
  const std::uint64_t i = first_index();
  if (i == 0) bins.totals[1] = 0;
  const std::uint32_t row = i < count ? static_cast<std::uint32_t>(indices[i]) : ~0u;
  const std::uint32_t same = __match_any_sync(~0u, row);
  const std::uint32_t before = __popc(same & lanes_below());
  std::uint32_t rank = 0;
  if (i < count && before == 0) rank = atomicAdd(bins.counts + row, static_cast<std::uint32_t>(__popc(same)));
  rank = __shfl_sync(~0u, rank, __ffs(static_cast<int>(same)) - 1);
  if (i < count) bins.ranks[i] = rank + before;
}

// A warp takes places for its rows at once.
__device__ __forceinline__ void place_rows(const EmbeddingBins& bins, std::uint64_t rows) {
  const std::uint64_t row = first_index();
  const std::uint32_t count = row < rows ? bins.counts[row] : 0;
  std::uint32_t end = count;
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const std::uint32_t before = __shfl_up_sync(~0u, end, offset);
    if (threadIdx.x % 32 >= offset) end += before;
  }
  std::uint32_t begin = 0;
  if (threadIdx.x % 32 == 31) begin = atomicAdd(bins.totals, end);
  begin = __shfl_sync(~0u, begin, 31);
  if (row >= rows) return;
  bins.spans[row] = {begin + end - count, count};
  bins.counts[row] = 0;
}

__device__ __forceinline__ void sort_indices(const EmbeddingBins& bins, const std::int64_t* indices,
                                             std::uint64_t count) {
  const std::uint64_t i = first_index();
  if (i == 0) bins.totals[0] = 0;
  if (i >= count) return;
  const auto row = static_cast<std::uint32_t>(indices[i]);
  const std::uint32_t rank = bins.ranks[i];
  bins.order[bins.spans[row].begin + rank] = static_cast<std::uint32_t>(i);
  if (rank > 0 && rank % SortedEmbedding::kPart == 0)
    bins.parts[atomicAdd(bins.totals + 1, 1u)] = {row, rank};
}

/// A whole warp comes here, though not each lane has an index.
__device__ __forceinline__ void put(const RowBins& bins, std::uint32_t row, std::uint32_t rank,
                                    std::uint32_t position, bool has) {
  if (has && rank < kBin) (&bins.count(row))[1 + rank] = position;
  const bool left = has && rank >= kBin;
  const std::uint32_t all_left = __ballot_sync(~0u, left);
  if (all_left == 0) return;
  std::uint32_t place = 0;
  if (threadIdx.x % 32 == 0) place = atomicAdd(bins.totals, static_cast<std::uint32_t>(__popc(all_left)));
  place = __shfl_sync(~0u, place, 0);
  if (!left) return;
  bins.left_over[place + __popc(all_left & lanes_below())] = {row + 1, position};
  if (rank == kBin) bins.places[row] = atomicAdd(bins.totals + 1, 1u);
}

// Lanes that name the row of the warp's first one count it together: all 524288 indices equal would else be
// as many atomic adds in one place. Four indices in flight, since each add is waited for.
__device__ __forceinline__ void bin_indices(const RowBins& bins, const std::int64_t* indices,
                                            std::uint64_t count) {
  constexpr int kInFlight = jitterscope::cuda::BinnedEmbedding::kIndicesInFlight;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x * kInFlight + threadIdx.x;
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t rows[kInFlight], ranks[kInFlight], same[kInFlight];
  bool has[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint64_t i = first + k * blockDim.x;
    has[k] = i < count;
    rows[k] = has[k] ? static_cast<std::uint32_t>(indices[i]) : ~0u;
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    same[k] = __ballot_sync(~0u, rows[k] == __shfl_sync(~0u, rows[k], 0));
    const std::uint32_t adds = lane == 0 ? __popc(same[k]) : same[k] >> lane & 1 ? 0 : 1;
    ranks[k] = has[k] && adds > 0 ? atomicAdd(&bins.count(rows[k]), adds) : 0;
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint32_t before = __shfl_sync(~0u, ranks[k], 0);
    if (same[k] >> lane & 1) ranks[k] = before + __popc(same[k] & lanes_below());
    put(bins, rows[k], ranks[k], static_cast<std::uint32_t>(first + k * blockDim.x), has[k]);
  }
}

}  // namespace

JITTERSCOPE_ENTRY(256, embedding_count_i64,
                  (EmbeddingBins bins, const std::int64_t* indices, std::uint64_t count),
                  { count_indices(bins, indices, count); })
JITTERSCOPE_ENTRY(256, embedding_place_i64, (EmbeddingBins bins, std::uint64_t rows),
                  { place_rows(bins, rows); })
JITTERSCOPE_ENTRY(256, embedding_sort_i64,
                  (EmbeddingBins bins, const std::int64_t* indices, std::uint64_t count),
                  { sort_indices(bins, indices, count); })
JITTERSCOPE_ENTRY(256, embedding_bin_i64, (RowBins bins, const std::int64_t* indices, std::uint64_t count),
                  { bin_indices(bins, indices, count); })
