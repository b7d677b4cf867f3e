// A plan of jitterscope's own kernels on one GPU.
#pragma once

#include <cuda.h>

#include <optional>
#include <string>
#include <vector>

#include "device/cuda/context.hpp"
#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/memory.hpp"

namespace jitterscope::cuda {

/// Its steps are ready to launch once they are planned.
class GpuPlan : public KernelPlan {
 public:
  GpuPlan(const Context& context, std::vector<CUdeviceptr> operands)
      : context_(context), operands_(std::move(operands)) {}

  DeviceAddress operand(std::size_t index) const override { return operands_.at(index); }
  DeviceAddress workspace(Bytes size) override;
  std::int64_t resident_blocks(const KernelName& kernel, unsigned threads, Bytes shared) override;
  Bytes largest_shared_memory(const KernelName& kernel) override;
  std::int64_t cluster_blocks(const KernelName& kernel) override;
  void add_zero(const ZeroStep& step) override { steps_.push_back({.zero = step}); }

  void run(CUstream stream);
  /// Of its steps, in their order: relu_f32, or embedding_count_i64+…+embedding_backward_vector_f16.
  std::string names() const;
  Bytes workspace_size() const;

 protected:
  void add_step(KernelStep step) override;

 private:
  struct Step {
    CUfunction function = nullptr;
    std::optional<KernelStep> kernel = {};
    std::optional<ZeroStep> zero = {};
  };

  const Context& context_;
  std::vector<CUdeviceptr> operands_;
  std::vector<DeviceMemory> workspaces_;
  std::vector<Step> steps_;
};

}  // namespace jitterscope::cuda
