// Operations that run a oneDNN primitive of a convolution or product, with post-ops in the same launch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {

/// A primitive, and how the operands lie in memory. If the primitive wants an operand in another layout, each
/// launch reorders it, as PyTorch does for the plain tensors of a training run.
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

/// Post-ops of a primitive, and how the operands that they read lie in memory.
struct PostOps {
  dnnl::post_ops list = {};
  std::vector<dnnl::memory::desc> operands = {};
};

/// The result as it lies in memory. If it is nchw, the primitive may use another layout inside.
dnnl::memory::desc convolution_result(const Conv2d& conv);
/// These throw dnnl::error if oneDNN lacks it.
OnednnPlan plan_convolution(const Conv2d& conv, const dnnl::engine& engine, const PostOps& post_ops = {});
OnednnPlan plan_matmul(const Matmul& matmul, const dnnl::engine& engine, const PostOps& post_ops = {},
                       const RowStride& rows = {});

/// Throws UsageError if oneDNN has no kernel for it, FailedError with oneDNN's reason for other errors.
std::unique_ptr<PreparedOperation> prepare_planned(
    const Operation& operation, const InputTable& inputs,
    const std::function<OnednnPlan(const dnnl::engine&)>& make_plan);

}  // namespace jitterscope::cpu
