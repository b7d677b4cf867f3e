#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/channel_shape.hpp"

namespace jitterscope::cuda {

void plan_bias_add(KernelPlan& plan, const BiasAdd& shape) {
  const auto channels = ChannelShape::make(shape.n, shape.c, shape.h * shape.w, shape.layout == Layout::nhwc);
  plan.add_covering("bias_add", shape.dtype,
                    vectors_of(static_cast<std::int64_t>(channels.count), shape.dtype), plan.operand(2),
                    plan.operand(0), plan.operand(1), channels);
}

void plan_bias_broadcast(KernelPlan& plan, const Matmul& shape) {
  plan.add_covering("bias_broadcast", shape.dtype, vectors_of(shape.m * shape.n, shape.dtype),
                    plan.operand(3), plan.operand(2), ChannelShape::make(shape.m, shape.n, 1, true));
}

}  // namespace jitterscope::cuda
