// A plan of jitterscope's own kernels on one GPU.
#pragma once

#include <cuda.h>

#include <string>
#include <variant>
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
  void add_zero(const ZeroStep& step) override { steps_.emplace_back(step); }

  void run(CUstream stream);
  /// Of its steps, in their order: relu_f32, or memset+embedding_backward_f32.
  std::string names() const;
  Bytes workspace_size() const;

 protected:
  void add_step(KernelStep step) override;

 private:
  struct Launch {
    CUfunction function;
    KernelStep kernel;
  };

  const Context& context_;
  std::vector<CUdeviceptr> operands_;
  std::vector<DeviceMemory> workspaces_;
  std::vector<std::variant<ZeroStep, Launch>> steps_;
};

}  // namespace jitterscope::cuda
