// A plan of cuDNN's on operands that stay where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/engine_configuration.hpp"

namespace jitterscope::cuda {

/// Where the tensors of a graph are, by their ids.
CudnnDescriptor variant_pack(std::span<const std::int64_t> ids, std::span<void* const> pointers,
                             void* workspace);

class PlanExecution {
 public:
  PlanExecution(const Context& context, cudnnHandle_t handle, std::vector<std::int64_t> ids,
                std::vector<void*> pointers)
      : context_(context), handle_(handle), ids_(std::move(ids)), pointers_(std::move(pointers)) {}

  /// Runs it once: why it cannot be used, or nothing; then workspace and operands are bound for it. Throws
  /// FailedError where it fails on the device itself.
  std::optional<std::string> try_plan(const EnginePlan& candidate);
  /// The plan that was tried last.
  void run(const EnginePlan& plan, NativeQueue queue);

 private:
  void execute(const EnginePlan& plan, CUstream stream, const std::string& action);

  const Context& context_;
  cudnnHandle_t handle_;
  std::vector<std::int64_t> ids_;
  std::vector<void*> pointers_;
  Workspace workspace_;
  CudnnDescriptor variants_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
};

}  // namespace jitterscope::cuda
