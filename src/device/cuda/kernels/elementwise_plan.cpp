#include "device/cuda/kernel_plan.hpp"

namespace jitterscope::cuda {

// A formula of fewer inputs ignores the others, which are given it all the same.
void plan_elementwise(KernelPlan& plan, const Elementwise& shape) {
  const Operation operation(shape);
  const std::size_t inputs = operation.operands().size() - 1;
  const std::int64_t vectors = vectors_of(shape.count, shape.dtype);
  const auto count = static_cast<std::uint64_t>(shape.count);
  if (shape.kind == ElementwiseKind::fill) {
    plan.add_covering("fill", shape.dtype, (vectors + kFillVectors - 1) / kFillVectors, plan.operand(0),
                      count);
    return;
  }
  plan.add_covering(operation.kind(), shape.dtype, vectors, plan.operand(inputs), plan.operand(0),
                    plan.operand(inputs > 1 ? 1 : 0), count);
}

}  // namespace jitterscope::cuda
