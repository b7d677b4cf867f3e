#include "device/cuda/kernel_plan.hpp"

namespace jitterscope::cuda {
namespace {

void add_places(KernelPlan& plan, std::string_view name, const Embedding& shape, DeviceAddress to,
                DeviceAddress indices, DeviceAddress from) {
  const bool whole = shape.columns % elements_of_vector(shape.dtype) == 0;
  const std::int64_t elements = shape.count * shape.columns;
  plan.add_covering(name, shape.dtype, whole ? vectors_of(elements, shape.dtype) : elements, to, indices,
                    from, static_cast<std::uint64_t>(shape.count), FastDivisor(shape.columns));
}

// Numbers of 16 bits are added up in f32.
void plan_backward(KernelPlan& plan, const Embedding& shape) {
  const std::int64_t elements = shape.rows * shape.columns;
  const bool rounds = element_size(shape.dtype) == Bytes(2);
  const Bytes size(elements * compute_size(shape.dtype).value());
  const DeviceAddress sums = rounds ? plan.workspace(size) : plan.operand(2);
  plan.add_zero({sums, size});
  add_places(plan, "embedding_backward", shape, sums, plan.operand(1), plan.operand(0));
  if (!rounds) return;
  plan.add_covering("embedding_round_sums", shape.dtype, vectors_of(elements, shape.dtype), plan.operand(2),
                    sums, static_cast<std::uint64_t>(elements));
}

}  // namespace

void plan_embedding(KernelPlan& plan, const Embedding& shape) {
  if (shape.pass == Pass::backward) {
    plan_backward(plan, shape);
  } else {
    add_places(plan, "embedding_forward", shape, plan.operand(2), plan.operand(0), plan.operand(1));
  }
}

}  // namespace jitterscope::cuda
