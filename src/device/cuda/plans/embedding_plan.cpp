// Embedding: the gradient by the indices sorted by the row that they name, so that each row of the table is
// written once; the lookup by the indices as they stand, unless the table is too large for stripes of it to
// stay in the cache.
#include <fmt/format.h>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/embedding_shape.hpp"

namespace jitterscope::cuda {
namespace {

/// What the kernels know as EmbeddingBins.
struct Bins {
  DeviceAddress counts, ranks, spans, order, parts, totals;

  Bins(KernelPlan& plan, const SortedEmbedding& shape, std::uint64_t count) {
    const auto numbers = [&](std::uint64_t size) {
      return plan.workspace(Bytes(static_cast<std::int64_t>(size * sizeof(std::uint32_t))));
    };
    counts = numbers(shape.rows);
    ranks = numbers(count);
    spans = numbers(2 * shape.rows);
    order = numbers(count);
    parts = numbers(2 * (shape.parts + 1));
    totals = numbers(2);
  }
};

Bins add_sorting(KernelPlan& plan, const SortedEmbedding& shape, std::int64_t count, DeviceAddress indices) {
  const Bins bins(plan, shape, static_cast<std::uint64_t>(count));
  const auto add = [&](std::string_view step, std::int64_t items, auto... arguments) {
    plan.add_covering(KernelName(KernelFile::embedding_bins, step, DataType::i64), items, 1, bins,
                      arguments...);
  };
  add("embedding_count", count, indices, static_cast<std::uint64_t>(count));
  add("embedding_place", static_cast<std::int64_t>(shape.rows), shape.rows);
  add("embedding_sort", count, indices, static_cast<std::uint64_t>(count));
  return bins;
}

/// What the kernels know as SharedSums.
struct Sums {
  DeviceAddress sums, arrived;

  Sums(KernelPlan& plan, const SortedEmbedding& shape, DataType dtype) {
    const auto places = static_cast<std::int64_t>(shape.parts) + 1;
    sums = plan.workspace(
        Bytes(places * static_cast<std::int64_t>(shape.columns) * compute_size(dtype).value()));
    arrived = plan.workspace(Bytes(places * static_cast<std::int64_t>(shape.groups.divisor) *
                                   static_cast<std::int64_t>(sizeof(std::uint32_t))));
  }
};

}  // namespace

void plan_embedding(KernelPlan& plan, const Embedding& shape) {
  const int per_vector = elements_of_vector(shape.dtype);
  const bool whole = shape.columns % per_vector == 0;
  const int group = whole ? per_vector : 1;
  const auto name = [&](std::string_view base) {
    return KernelName(KernelFile::embedding,
                      fmt::format("embedding_{}_{}", base, whole ? "vector" : "single"), shape.dtype);
  };
  const auto sorted = SortedEmbedding::make(shape.count, shape.rows, shape.columns, group);
  if (shape.pass == Pass::backward) {
    const Bins bins = add_sorting(plan, sorted, shape.count, plan.operand(1));
    const Sums sums(plan, sorted, shape.dtype);
    plan.add_covering(name("backward"), sorted.threads(), 1, plan.operand(2), plan.operand(0), bins, sums,
                      sorted);
  } else if (shape.count >= shape.rows && !EmbeddingShape::has_stripes(shape.rows)) {
    const Bins bins = add_sorting(plan, sorted, shape.count, plan.operand(0));
    plan.add_covering(name("forward_sorted"), sorted.threads(), 1, plan.operand(2), plan.operand(1), bins,
                      sorted);
  } else {
    const auto work = EmbeddingShape::make(shape.count, shape.rows, shape.columns, group,
                                           group * element_size(shape.dtype).value());
    plan.add(name("forward"), work.blocks(), kBlockThreads, plan.operand(2), plan.operand(0), plan.operand(1),
             work);
  }
}

}  // namespace jitterscope::cuda
