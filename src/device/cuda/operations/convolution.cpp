#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/engine_selection.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch_rules.hpp"

namespace jitterscope::cuda {
namespace {

// cuDNN runs every convolution here, those too that PyTorch runs by kernels inside its own library: these are
// marked as stand-ins.
class CudnnConvolution : public CudaOperation {
 public:
  CudnnConvolution(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data),
        handle_(cudnn_handle()),
        graph_(handle_, convolution_of(operation())),
        plan_(select_engine(handle_, graph_, operation(),
                            [this](const EnginePlan& candidate) { return try_plan(candidate); })) {
    poison_outputs();  // trying the plan has written them
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override { return plan_.tag; }
  bool is_stand_in() const override {
    const Conv2d& convolution = convolution_of(operation());
    return convolution.engine.empty() && !pytorch_uses_cudnn(convolution);
  }
  Bytes workspace() const override { return plan_.workspace; }

  void run(NativeQueue queue) override {
    check_cudnn(cudnn().cudnnSetStream(handle_, static_cast<cudaStream_t>(queue)), "cudnnSetStream");
    check_cudnn(cudnn().cudnnBackendExecute(handle_, plan_.plan.get(), variants_.get()), plan_.tag);
  }

 private:
  // Leaves workspace and operands bound where the plan works.
  std::optional<std::string> try_plan(const EnginePlan& candidate) {
    try {
      workspace_ = Workspace();  // before the next one is allocated, or both must fit
      workspace_ = Workspace(context(), candidate.workspace);
      variants_ = bind_operands();
      check_cudnn(cudnn().cudnnSetStream(handle_, context().stream()), "cudnnSetStream");
      check_cudnn(cudnn().cudnnBackendExecute(handle_, candidate.plan.get(), variants_.get()),
                  "cudnnBackendExecute");
    } catch (const FailedError& error) {
      return error.what();
    }
    // A failure on the device itself leaves the context unusable: that one is not for the next plan to mend.
    check(driver().cuCtxSynchronize(), candidate.tag);
    return std::nullopt;
  }

  CudnnDescriptor bind_operands() const {
    const std::array<std::int64_t, 3> ids = operand_ids(convolution_of(operation()).direction);
    const std::array<void*, 3> pointers = {operand_pointer(0), operand_pointer(1), operand_pointer(2)};
    CudnnDescriptor variants(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    variants.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    variants.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                 std::span<void* const>(pointers));
    variants.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace_.pointer());
    variants.finalize();
    return variants;
  }

  cudnnHandle_t handle_;
  ConvolutionGraph graph_;
  Workspace workspace_;
  CudnnDescriptor variants_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  EnginePlan plan_;  // last: choosing it fills the two above
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_convolution(const Context& context, const Operation& operation,
                                                       const InputData& data) {
  cudnn();  // before the operands are allocated: a missing library is the clearer reason
  return std::make_unique<CudnnConvolution>(context, operation, data);
}

std::vector<EngineListing> list_convolution_engines(const Context& context, const Operation& operation) {
  context.make_current();
  cudnnHandle_t handle = cudnn_handle();
  return list_engines(handle, ConvolutionGraph(handle, convolution_of(operation)), operation);
}

}  // namespace jitterscope::cuda
