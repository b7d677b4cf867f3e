// The kernels of layers: a module that is loaded when an operation first needs it, since most runs need none.
#pragma once

#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include <cuda.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/memory.hpp"

namespace jitterscope::cuda {

class Context;

/// The context must be current throughout.
class LayerKernels {
 public:
  explicit LayerKernels(const Context& context) : context_(context) {}
  ~LayerKernels();
  LayerKernels(const LayerKernels&) = delete;
  LayerKernels& operator=(const LayerKernels&) = delete;

  /// Returns a kernel that is loaded entirely: a held queue would stall one that loads at launch.
  CUfunction find(const std::string& name) const;

 private:
  const Context& context_;
  mutable std::mutex mutex_;
  mutable CUmodule module_ = nullptr;
};

// Running a plan of jitterscope's own kernels on one GPU.

/// A plan whose steps are ready to launch once they are added.
class GpuPlan : public KernelPlan {
 public:
  GpuPlan(const Context& context, std::vector<CUdeviceptr> operands)
      : context_(context), operands_(std::move(operands)) {}

  DeviceAddress operand(std::size_t index) const override { return operands_.at(index); }
  DeviceAddress workspace(Bytes size) override;
  void add_zero(const ZeroStep& step) override { steps_.emplace_back(step); }

  void run(CUstream stream);
  /// Returns the names of its steps in order: relu_f32, or memset+embedding_backward_f32.
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
