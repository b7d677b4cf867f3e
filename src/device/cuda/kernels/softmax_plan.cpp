#include "device/cuda/kernel_plan.hpp"

namespace jitterscope::cuda {

void plan_softmax(KernelPlan& plan, const Softmax& shape) {
  const unsigned threads = row_threads(shape.columns, shape.dtype);
  const auto columns = static_cast<std::uint64_t>(shape.columns);
  if (shape.pass == Pass::backward) {
    plan.add("softmax_backward", shape.dtype, shape.rows, threads, plan.operand(2), plan.operand(0),
             plan.operand(1), columns, shape.logarithm);
  } else {
    plan.add("softmax_forward", shape.dtype, shape.rows, threads, plan.operand(1), plan.operand(0), columns,
             shape.logarithm);
  }
}

}  // namespace jitterscope::cuda
