#include "device/cuda/kernels/sums_plan.hpp"

namespace jitterscope::cuda {
namespace {

/// What the kernels know by the same name.
struct WeightTerms {
  DeviceAddress dy, x, mean, deviation;
  std::uint32_t columns;
};

void plan_forward(KernelPlan& plan, const LayerNorm& shape) {
  plan.add("layer_norm_forward", shape.dtype, shape.rows, row_threads(shape.columns, shape.dtype),
           plan.operand(3), plan.operand(4), plan.operand(5), plan.operand(0), plan.operand(1),
           plan.operand(2), static_cast<std::uint64_t>(shape.columns));
}

void plan_backward(KernelPlan& plan, const LayerNorm& shape) {
  const DeviceAddress dy = plan.operand(0), x = plan.operand(1), mean = plan.operand(2),
                      deviation = plan.operand(3);
  plan.add("layer_norm_backward", shape.dtype, shape.rows, row_threads(shape.columns, shape.dtype),
           plan.operand(5), dy, x, plan.operand(4), mean, deviation,
           static_cast<std::uint64_t>(shape.columns));
  const auto columns = static_cast<std::uint32_t>(shape.columns);
  const std::int64_t across = sum_blocks_across(shape.columns);
  const std::int64_t parts = sum_parts_of(shape.rows, shape.columns);
  const PartialSums sums(plan, shape.dtype, parts, shape.columns);
  plan.add("layer_norm_weight_sums", shape.dtype, parts * across, kSumThreads, sums,
           WeightTerms{dy, x, mean, deviation, columns}, static_cast<std::uint64_t>(shape.rows));
  plan.add("layer_norm_weights", shape.dtype, across, kSumThreads, plan.operand(6), plan.operand(7), sums,
           static_cast<std::uint32_t>(parts));
}

}  // namespace

void plan_layer_norm(KernelPlan& plan, const LayerNorm& shape) {
  if (shape.pass == Pass::backward) {
    plan_backward(plan, shape);
  } else {
    plan_forward(plan, shape);
  }
}

}  // namespace jitterscope::cuda
