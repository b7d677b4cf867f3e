// Embedding: the lookup by the indices as they stand; the gradient by the indices of each row of the table,
// so that it is written once. Where many rows are named by few indices each, these are put into bins;
// elsewhere they are sorted, which are as many for a row as there are.
#include <fmt/format.h>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/embedding_shape.hpp"

namespace jitterscope::cuda {
namespace {

/// So many of 32 bits.
DeviceAddress numbers(KernelPlan& plan, std::uint64_t count) {
  return plan.workspace(Bytes(static_cast<std::int64_t>(count * sizeof(std::uint32_t))));
}

/// What the kernels know as EmbeddingBins.
struct Bins {
  DeviceAddress counts, ranks, spans, order, parts, totals;

  Bins(KernelPlan& plan, const SortedEmbedding& shape, std::uint64_t count) {
    counts = numbers(plan, shape.rows);
    ranks = numbers(plan, count);
    spans = numbers(plan, 2 * shape.rows);
    order = numbers(plan, count);
    parts = numbers(plan, 2 * (shape.parts + 1));
    totals = numbers(plan, 2);
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

  /// `places` rows of sums.
  Sums(KernelPlan& plan, const Embedding& shape, std::int64_t places, std::int64_t groups) {
    sums = plan.workspace(Bytes(places * shape.columns * compute_size(shape.dtype).value()));
    arrived = numbers(plan, static_cast<std::uint64_t>(places * groups));
  }
};

/// What the kernels know as RowBins.
struct BinsOfRows {
  DeviceAddress bins, left_over, places, totals;

  BinsOfRows(KernelPlan& plan, const BinnedEmbedding& shape) {
    bins = numbers(plan, shape.rows * kLanes);
    left_over = numbers(plan, 2 * shape.parts * kLanes);
    places = numbers(plan, shape.rows);
    totals = numbers(plan, 2);
  }
};

/// How wide the accesses to a row are, and the kernels for them.
struct Access {
  DataType dtype;
  bool whole;  ///< vectors
  int group;   ///< columns of one access

  explicit Access(const Embedding& shape)
      : dtype(shape.dtype),
        whole(shape.columns % elements_of_vector(dtype) == 0),
        group(whole ? elements_of_vector(dtype) : 1) {}
  KernelName kernel(KernelFile file, std::string_view base) const {
    return {file, fmt::format("embedding_{}_{}", base, whole ? "vector" : "single"), dtype};
  }
};

BinsOfRows add_binning(KernelPlan& plan, const BinnedEmbedding& binned, std::int64_t count,
                       DeviceAddress indices) {
  const BinsOfRows bins(plan, binned);
  plan.add_covering(KernelName(KernelFile::embedding_bins, "embedding_bin", DataType::i64), count,
                    BinnedEmbedding::kIndicesInFlight, bins, indices, static_cast<std::uint64_t>(count));
  return bins;
}

void plan_forward(KernelPlan& plan, const Embedding& shape) {
  const Access access(shape);
  const auto work = EmbeddingShape::make(shape.count, shape.rows, shape.columns, access.group,
                                         access.group * element_size(shape.dtype).value());
  plan.add(access.kernel(KernelFile::embedding, "forward"), work.blocks(), kBlockThreads, plan.operand(2),
           plan.operand(0), plan.operand(1), work);
}

void plan_backward(KernelPlan& plan, const Embedding& shape) {
  const Access access(shape);
  const std::int64_t groups = shape.columns / access.group;
  if (BinnedEmbedding::fits(shape.count, shape.rows, groups)) {
    const auto binned = BinnedEmbedding::make(shape.count, shape.rows, shape.columns, access.group);
    const BinsOfRows bins = add_binning(plan, binned, shape.count, plan.operand(1));
    const Sums sums(plan, shape, BinnedEmbedding::full_rows(shape.count) + 1, groups);
    constexpr unsigned kThreads = 128;
    plan.add(access.kernel(KernelFile::embedding_binned, "backward_binned"),
             (binned.threads() + kThreads - 1) / kThreads, kThreads, plan.operand(2), plan.operand(0), bins,
             sums, binned);
    return;
  }
  const auto sorted = SortedEmbedding::make(shape.count, shape.rows, shape.columns, access.group);
  const Bins bins = add_sorting(plan, sorted, shape.count, plan.operand(1));
  const Sums sums(plan, shape, static_cast<std::int64_t>(sorted.parts) + 1, groups);
  plan.add_covering(access.kernel(KernelFile::embedding, "backward"), sorted.threads(), 1, plan.operand(2),
                    plan.operand(0), bins, sums, sorted);
}

}  // namespace

void plan_embedding(KernelPlan& plan, const Embedding& shape) {
  if (shape.pass == Pass::backward) {
    plan_backward(plan, shape);
  } else {
    plan_forward(plan, shape);
  }
}

}  // namespace jitterscope::cuda
