#include "device/cuda/kernel_plan.hpp"

namespace jitterscope::cuda {
namespace {

/// What the kernels know by the same name.
struct OptimizerTensors {
  DeviceAddress parameter = 0, first = 0, second = 0;
  DeviceAddress old_parameter = 0, gradient = 0, old_first = 0, old_second = 0;
};

}  // namespace

void plan_optimizer(KernelPlan& plan, const OptimizerStep& shape) {
  const Operation operation(shape);
  // Beside the parameter, its gradient and the new parameter, each state is there before and after the step.
  const std::size_t states = (operation.operands().size() - 3) / 2, inputs = 2 + states;
  OptimizerTensors tensors;
  tensors.old_parameter = plan.operand(0);
  tensors.gradient = plan.operand(1);
  tensors.parameter = plan.operand(inputs);
  if (states > 0) {
    tensors.old_first = plan.operand(2);
    tensors.first = plan.operand(inputs + 1);
  }
  if (states > 1) {
    tensors.old_second = plan.operand(3);
    tensors.second = plan.operand(inputs + 2);
  }
  plan.add_covering(operation.kind(), shape.dtype, vectors_of(shape.count, shape.dtype), tensors,
                    static_cast<std::uint64_t>(shape.count));
}

}  // namespace jitterscope::cuda
