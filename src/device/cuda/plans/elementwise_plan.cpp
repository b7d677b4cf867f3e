// Elementwise, optimizer steps and bias: one kernel that fills the GPU.
#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/channel_shape.hpp"
#include "device/cuda/kernels/elementwise_shape.hpp"

namespace jitterscope::cuda {
namespace {

std::int64_t vectors_of(std::int64_t count, DataType dtype) { return count / elements_of_vector(dtype); }

struct OptimizerTensors {
  DeviceAddress parameter = 0, first = 0, second = 0;
  DeviceAddress old_parameter = 0, gradient = 0, old_first = 0, old_second = 0;
};

struct OptimizerNames {
  std::string_view kernel;
  std::size_t states;
};
OptimizerNames names_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return {"sgd", 0};
    case OptimizerKind::momentum: return {"momentum", 1};
    case OptimizerKind::adam: return {"adam", 2};
    case OptimizerKind::adamw: return {"adamw", 2};
  }
  return {"sgd", 0};
}

}  // namespace

void plan_elementwise(KernelPlan& plan, const Elementwise& shape) {
  const KernelName kernel(KernelFile::elementwise, Operation(shape).kind(), shape.dtype);
  const std::size_t inputs = Operation(shape).operands().size() - 1;
  const DeviceAddress out = plan.operand(inputs);
  const DeviceAddress a = inputs > 0 ? plan.operand(0) : 0;
  const DeviceAddress b = inputs > 1 ? plan.operand(1) : 0;
  plan.add_covering(kernel, vectors_of(shape.count, shape.dtype), vectors_in_flight(static_cast<int>(inputs)),
                    out, a, b, static_cast<std::uint64_t>(shape.count));
}

void plan_optimizer(KernelPlan& plan, const OptimizerStep& shape) {
  const auto [name, states] = names_of(shape.kind);
  OptimizerTensors tensors;
  tensors.old_parameter = plan.operand(0);
  tensors.gradient = plan.operand(1);
  if (states > 0) tensors.old_first = plan.operand(2);
  if (states > 1) tensors.old_second = plan.operand(3);
  const std::size_t inputs = 2 + states;
  tensors.parameter = plan.operand(inputs);
  if (states > 0) tensors.first = plan.operand(inputs + 1);
  if (states > 1) tensors.second = plan.operand(inputs + 2);
  plan.add_filling(KernelName(KernelFile::optimizer, name, shape.dtype), vectors_of(shape.count, shape.dtype),
                   tensors, static_cast<std::uint64_t>(shape.count));
}

void plan_bias_add(KernelPlan& plan, const BiasAdd& shape) {
  const int per_vector = elements_of_vector(shape.dtype);
  const ChannelShape channels =
      ChannelShape::make(shape.n, shape.c, shape.h * shape.w, shape.layout == Layout::nhwc, per_vector);
  plan.add_covering(KernelName(KernelFile::bias_add, "bias_add", shape.dtype),
                    vectors_of(static_cast<std::int64_t>(channels.count), shape.dtype), 1, plan.operand(2),
                    plan.operand(0), plan.operand(1), channels);
}

void plan_bias_broadcast(KernelPlan& plan, const Matmul& shape) {
  const ChannelShape rows = ChannelShape::make(shape.m, shape.n, 1, true, elements_of_vector(shape.dtype));
  plan.add_filling(KernelName(KernelFile::bias_add, "bias_broadcast", shape.dtype), shape.m * shape.n,
                   plan.operand(3), plan.operand(2), rows);
}

}  // namespace jitterscope::cuda
