// Softmax and layer normalization: a group of threads for each row, as small as holds the row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/row_slots.hpp"
#include "device/cuda/kernels/sums_shape.hpp"

namespace jitterscope::cuda {
namespace {

/// `group` threads hold `slots` vectors of a row each.
struct RowKernel {
  unsigned group, slots, threads;
  std::string name() const { return fmt::format("{}x{}", group, slots); }
  std::int64_t rows_each() const { return threads / group; }
};
#define JITTERSCOPE_ROW_KERNEL(T, suffix, group, slots, threads) RowKernel{group, slots, threads},
constexpr RowKernel kHeld[] = {JITTERSCOPE_HELD_ROWS(JITTERSCOPE_ROW_KERNEL, , )};
#undef JITTERSCOPE_ROW_KERNEL
/// A block's part of a row that a cluster shares.
constexpr std::array kClustered = {RowKernel{128, 7, 128}, RowKernel{256, 4, 256}, RowKernel{256, 7, 256}};
constexpr std::array kFused = {RowKernel{32, 1, 256},  RowKernel{32, 2, 256},  RowKernel{32, 3, 128},
                               RowKernel{128, 1, 128}, RowKernel{192, 1, 192}, RowKernel{256, 1, 256},
                               RowKernel{128, 4, 128}, RowKernel{256, 4, 256}};

std::optional<RowKernel> smallest(std::span<const RowKernel> kernels, std::int64_t slots) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const RowKernel& kernel) {
    return slots <= static_cast<std::int64_t>(kernel.group) * kernel.slots;
  });
  return found == kernels.end() ? std::nullopt : std::optional(*found);
}

/// Where the variants for each group are, and that for rows too long for all of them.
struct RowFiles {
  KernelFile held, streamed;
};
constexpr RowFiles kSoftmax{KernelFile::softmax, KernelFile::softmax_streamed};
constexpr RowFiles kLayerNorm{KernelFile::layer_norm, KernelFile::layer_norm_streamed};

template <class... Arguments>
void add_rows(KernelPlan& plan, const RowFiles& files, std::string_view base, DataType dtype,
              std::int64_t rows, std::int64_t columns, Arguments... arguments) {
  constexpr unsigned kStreamedThreads = 512;
  if (const auto held = smallest(kHeld, most_slots(columns, elements_of_vector(dtype)))) {
    plan.add(KernelName(files.held, fmt::format("{}_{}", base, held->name()), dtype),
             (rows + held->rows_each() - 1) / held->rows_each(), held->threads, arguments...);
  } else {
    plan.add(KernelName(files.streamed, fmt::format("{}_streamed", base), dtype), rows, kStreamedThreads,
             arguments...);
  }
}

/// Whether clusters of blocks took the rows: those that no block holds and eight do, where the GPU has them.
template <class... Arguments>
bool add_clusters(KernelPlan& plan, std::string_view base, const Softmax& shape, Arguments... arguments) {
  const std::int64_t slots = most_slots(shape.columns, elements_of_vector(shape.dtype));
  const auto part = smallest(kClustered, (slots + kClusterBlocks - 1) / kClusterBlocks);
  if (smallest(kHeld, slots) || !part || shape.dtype == DataType::f64) return false;
  const KernelName kernel(KernelFile::softmax_cluster, fmt::format("{}_cluster_{}", base, part->name()),
                          shape.dtype);
  if (plan.cluster_blocks(kernel) != kClusterBlocks) return false;
  plan.add(kernel, shape.rows * kClusterBlocks, part->threads, arguments...);
  return true;
}

/// Blocks that keep a row in shared memory, of which each thread takes so many vectors. `together`: so many
/// of the blocks are to find room on an SM, and no more. `way`: "ahead" are those that bring their next row
/// into the L2, which holds one for each SM.
struct SharedKernel {
  std::string_view way;
  unsigned threads, vectors, together;
  std::string name() const { return fmt::format("{}_{}x{}", way, threads, vectors); }
  std::int64_t slots() const { return std::int64_t{vectors} * threads; }
};
constexpr std::array kSharedForward = {
    SharedKernel{"ahead", 512, 7, 1},   SharedKernel{"ahead", 1024, 4, 1},
    SharedKernel{"ahead", 1024, 7, 1},  SharedKernel{"shared", 512, 8, 2},
    SharedKernel{"shared", 512, 13, 2}, SharedKernel{"shared", 512, 28, 1}};
constexpr std::array kSharedBackward = {SharedKernel{"shared", 512, 8, 2},
                                        SharedKernel{"shared", 1024, 8, 1}};
/// What an SM takes of its shared memory for each block.
constexpr std::int64_t kSharedOverhead = 2048;
/// It pays to fetch rows of more vectors ahead, where each block has so many that they come from memory: 8192
/// rows of 25000 columns in f16 take 206 us for 221, 2048 of them 56.9 for 57.3, and 1056 of them 31.6
/// for 30.2.
constexpr std::int64_t kShortSlots = 2560, kAheadRounds = 12;

/// Whether blocks took the rows into shared memory: those that no block holds in registers, and it has room
/// for.
template <class... Arguments>
bool add_shared(KernelPlan& plan, std::string_view base, const Softmax& shape, Arguments... arguments) {
  const int per_vector = elements_of_vector(shape.dtype);
  if (smallest(kHeld, most_slots(shape.columns, per_vector)) || shape.dtype == DataType::f64) return false;
  const bool backward = shape.pass == Pass::backward;
  const std::int64_t slots = shape.columns / per_vector;
  const Bytes needed(slots * 16 * (backward ? 2 : 1));
  for (const SharedKernel& each :
       backward ? std::span<const SharedKernel>(kSharedBackward) : kSharedForward) {
    const KernelName kernel(KernelFile::softmax_shared, fmt::format("{}_{}", base, each.name()), shape.dtype);
    const Bytes room = plan.largest_shared_memory(kernel);
    if (slots > each.slots() || needed + Bytes(kSharedOverhead) > room / each.together) continue;
    const Bytes taken = std::max(needed, room / (each.together + 1));
    const std::int64_t resident = plan.resident_blocks(kernel, each.threads, taken);
    if (each.way == "ahead" && (slots <= kShortSlots || shape.rows < kAheadRounds * resident)) continue;
    plan.add_sharing(kernel, std::min(shape.rows, resident), each.threads, taken, arguments...);
    return true;
  }
  return false;
}

/// Softmax, whose arguments end in the same way for both passes.
template <class... Tensors>
void add_softmax(KernelPlan& plan, std::string_view base, const Softmax& shape, Tensors... tensors) {
  const auto rows = static_cast<std::uint64_t>(shape.rows);
  const auto columns = static_cast<std::uint64_t>(shape.columns);
  if (add_shared(plan, base, shape, tensors..., rows, columns, shape.logarithm) ||
      add_clusters(plan, base, shape, tensors..., rows, columns, shape.logarithm)) {
    return;
  }
  add_rows(plan, kSoftmax, base, shape.dtype, shape.rows, shape.columns, tensors..., rows, columns,
           shape.logarithm);
}

struct NormForward {
  DeviceAddress y, mean, deviation, x, weight, bias;
};

/// Groups that pass from row to row: as many blocks as the GPU holds, or fewer.
std::int64_t passing_blocks(KernelPlan& plan, const KernelName& kernel, const RowKernel& group,
                            std::int64_t rows) {
  const std::int64_t needed = (rows + group.rows_each() - 1) / group.rows_each();
  return std::min(needed, plan.resident_blocks(kernel, group.threads));
}

/// Rows of 16-bit numbers for which warps that pass from row to row are faster.
bool plan_passing(KernelPlan& plan, const LayerNorm& shape, const NormForward& tensors) {
  constexpr RowKernel kPassing{32, 3, 256};
  constexpr std::int64_t kLeastSlots = 65, kMostSlots = std::int64_t{kPassing.group} * kPassing.slots;
  const int per_vector = elements_of_vector(shape.dtype);
  const std::int64_t slots = shape.columns / per_vector;
  if (per_vector != 8 || shape.columns % per_vector != 0 || slots < kLeastSlots || slots > kMostSlots) {
    return false;
  }
  const KernelName kernel(KernelFile::layer_norm_passing,
                          fmt::format("layer_norm_forward_passing_{}", kPassing.name()), shape.dtype);
  plan.add(kernel, passing_blocks(plan, kernel, kPassing, shape.rows), kPassing.threads, tensors,
           static_cast<std::uint64_t>(shape.rows), static_cast<std::uint64_t>(shape.columns));
  return true;
}

struct NormBackward {
  DeviceAddress dx, dy, x, weight, mean, deviation, weight_sums, bias_sums;
};
struct WeightTerms {
  DeviceAddress dy, x, mean, deviation;
  std::uint64_t columns;
};

/// The partial sums of dweight and dbias: `parts` rows of each.
struct WeightSums {
  DeviceAddress weight, bias;
  std::int64_t parts;

  WeightSums(KernelPlan& plan, const LayerNorm& shape, std::int64_t count) : parts(count) {
    const std::int64_t size = parts * shape.columns * compute_size(shape.dtype).value();
    weight = plan.workspace(Bytes(2 * size));
    bias = weight + static_cast<DeviceAddress>(size);
  }
  void finish(KernelPlan& plan, const LayerNorm& shape) const {
    plan.add(KernelName(KernelFile::layer_norm_weights, "layer_norm_weights", shape.dtype),
             (shape.columns + 31) / 32, 1024, plan.operand(6), plan.operand(7), weight, bias,
             static_cast<std::uint32_t>(parts), static_cast<std::uint32_t>(shape.columns));
  }
};

NormBackward backward_tensors(const KernelPlan& plan) {
  return {plan.operand(5),
          plan.operand(0),
          plan.operand(1),
          plan.operand(4),
          plan.operand(2),
          plan.operand(3),
          0,
          0};
}

/// Blocks of the fused pass: each leaves a row of partial sums for both gradients, which are written and read
/// again. While b of the r blocks that the GPU holds have work, rows take r/b of the time that their bytes
/// take with all of them; the partial sums take b times the time of one block's. Least is the sum of both at
/// b^2 = r * (bytes of all rows) / (bytes of a block's sums). Of the blocks that then have as many rows as
/// the others or one less, only so many are kept as need no more rows each.
std::int64_t summing_blocks(KernelPlan& plan, const KernelName& kernel, const RowKernel& group,
                            const LayerNorm& shape) {
  constexpr double kRowTensors = 3, kSumAccesses = 4;  // dy, x and dx; two sums, written and read
  const double rows_bytes =
      static_cast<double>(shape.rows) * kRowTensors * static_cast<double>(element_size(shape.dtype).value());
  const double sums_bytes = kSumAccesses * static_cast<double>(compute_size(shape.dtype).value());
  const auto resident = static_cast<double>(plan.resident_blocks(kernel, group.threads));
  const auto best = static_cast<std::int64_t>(std::ceil(std::sqrt(resident * rows_bytes / sums_bytes)));
  const std::int64_t needed = (shape.rows + group.rows_each() - 1) / group.rows_each();
  const std::int64_t blocks = std::min(best, passing_blocks(plan, kernel, group, shape.rows));
  const std::int64_t rounds = (needed + blocks - 1) / blocks;
  return (needed + rounds - 1) / rounds;
}

void plan_fused(KernelPlan& plan, const LayerNorm& shape, const RowKernel& fused) {
  const KernelName kernel(KernelFile::layer_norm_backward,
                          fmt::format("layer_norm_backward_{}", fused.name()), shape.dtype);
  const std::int64_t blocks = summing_blocks(plan, kernel, fused, shape);
  const WeightSums sums(plan, shape, blocks);
  NormBackward tensors = backward_tensors(plan);
  tensors.weight_sums = sums.weight;
  tensors.bias_sums = sums.bias;
  plan.add(kernel, blocks, fused.threads, tensors, static_cast<std::uint64_t>(shape.rows),
           static_cast<std::uint64_t>(shape.columns));
  sums.finish(plan, shape);
}

void plan_separate(KernelPlan& plan, const LayerNorm& shape) {
  plan.add(KernelName(KernelFile::layer_norm_backward, "layer_norm_backward_streamed", shape.dtype),
           shape.rows, 256, backward_tensors(plan), static_cast<std::uint64_t>(shape.rows),
           static_cast<std::uint64_t>(shape.columns));
  const KernelName kernel(KernelFile::layer_norm_weights, "layer_norm_weight_sums", shape.dtype);
  const auto columns = ColumnSumShape::make(shape.rows, shape.columns, 1,
                                            plan.resident_blocks(kernel, static_cast<unsigned>(kSumThreads)));
  const WeightSums sums(plan, shape, columns.row_blocks);
  const WeightTerms terms{plan.operand(0), plan.operand(1), plan.operand(2), plan.operand(3),
                          static_cast<std::uint64_t>(shape.columns)};
  plan.add(kernel, columns.blocks(), static_cast<unsigned>(kSumThreads), sums.weight, sums.bias, terms,
           columns);
  sums.finish(plan, shape);
}

}  // namespace

void plan_softmax(KernelPlan& plan, const Softmax& shape) {
  if (shape.pass == Pass::backward) {
    add_softmax(plan, "softmax_backward", shape, plan.operand(2), plan.operand(0), plan.operand(1));
  } else {
    add_softmax(plan, "softmax_forward", shape, plan.operand(1), plan.operand(0));
  }
}

void plan_layer_norm(KernelPlan& plan, const LayerNorm& shape) {
  if (shape.pass != Pass::backward) {
    const NormForward tensors{plan.operand(3), plan.operand(4), plan.operand(5),
                              plan.operand(0), plan.operand(1), plan.operand(2)};
    if (plan_passing(plan, shape, tensors)) return;
    add_rows(plan, kLayerNorm, "layer_norm_forward", shape.dtype, shape.rows, shape.columns, tensors,
             static_cast<std::uint64_t>(shape.rows), static_cast<std::uint64_t>(shape.columns));
    return;
  }
  const int per_vector = elements_of_vector(shape.dtype);
  const auto fused = smallest(kFused, shape.columns / per_vector);
  if (fused && shape.columns % per_vector == 0) {
    plan_fused(plan, shape, *fused);
  } else {
    plan_separate(plan, shape);
  }
}

}  // namespace jitterscope::cuda
