// Primitives of convolutions and products, with what follows them in the same launch, as operations.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {

/// A primitive, and how the operands lie in memory. Where the primitive wants an operand otherwise, it is
/// reordered within each launch, as PyTorch does for the plain tensors of a training run.
struct OnednnPlan {
  Primitive primitive;
  std::vector<dnnl::memory::desc> operands;

  bool reorders(std::size_t index) const { return primitive.arguments[index].desc != operands[index]; }
  bool reorders_any() const {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (reorders(i)) return true;
    }
    return false;
  }
  Bytes workspace() const {
    std::size_t size = primitive.scratchpad.get_size();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (reorders(i)) size += primitive.arguments[i].desc.get_size();
    }
    return Bytes(static_cast<std::int64_t>(size));
  }
};

/// What a primitive does to its result before it is written, and how what it reads for that lies in memory.
struct PostOps {
  dnnl::post_ops list = {};
  std::vector<dnnl::memory::desc> operands = {};
};

/// As it lies in memory. oneDNN may take another layout within the primitive where it is nchw.
dnnl::memory::desc convolution_result(const Conv2d& conv);
/// Throw dnnl::error where oneDNN cannot.
OnednnPlan plan_convolution(const Conv2d& conv, const dnnl::engine& engine, const PostOps& post_ops = {});
OnednnPlan plan_matmul(const Matmul& matmul, const dnnl::engine& engine, const PostOps& post_ops = {},
                       const RowStride& rows = {});

/// Throws UsageError where oneDNN has no kernel for it, FailedError with its reason for anything else.
std::unique_ptr<PreparedOperation> prepare_planned(
    const Operation& operation, const InputTable& inputs,
    const std::function<OnednnPlan(const dnnl::engine&)>& make_plan);

}  // namespace jitterscope::cpu
