// Sorts the indices of an embedding by the row that they name, in three steps: count, place, sort. Rows stand
// in no particular order, nor do the indices of one.
#include "device/cuda/kernels/embedding_bins.cuh"

namespace {

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

}  // namespace

JITTERSCOPE_ENTRY(256, embedding_count_i64,
                  (EmbeddingBins bins, const std::int64_t* indices, std::uint64_t count),
                  { count_indices(bins, indices, count); })
JITTERSCOPE_ENTRY(256, embedding_place_i64, (EmbeddingBins bins, std::uint64_t rows),
                  { place_rows(bins, rows); })
JITTERSCOPE_ENTRY(256, embedding_sort_i64,
                  (EmbeddingBins bins, const std::int64_t* indices, std::uint64_t count),
                  { sort_indices(bins, indices, count); })
