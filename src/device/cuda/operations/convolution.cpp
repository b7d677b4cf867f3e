#include <fmt/format.h>

#include <bit>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/engine_selection.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/operations/plan_execution.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch_rules.hpp"

namespace jitterscope::cuda {
namespace {

// cuDNN is told how the tensors lie; an engine that is named was found for the usual alignment.
Bytes least_alignment(const Conv2d& convolution) {
  return convolution.engine.empty() ? element_size(convolution.dtype) : Bytes(kTensorAlignment);
}

std::int64_t alignment_at(Bytes offset) {
  const auto bits = static_cast<std::uint64_t>(offset.value() % kTensorAlignment);
  return bits == 0 ? kTensorAlignment : std::int64_t{1} << std::countr_zero(bits);
}

// cuDNN runs every convolution here, those too that PyTorch runs by kernels inside its own library: these are
// marked as stand-ins.
class CudnnConvolution : public CudaOperation {
 public:
  CudnnConvolution(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), least_alignment(convolution_of(requested))),
        handle_(cudnn_handle()),
        graph_(handle_, convolution_of(operation()), alignment_at(data.offset)),
        execution_(on_operands()),
        plan_(select_engine(handle_, graph_, operation(),
                            [this](const EnginePlan& candidate) { return execution_.try_plan(candidate); })) {
    poison_outputs();  // trying the plan has written them
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override { return plan_.tag; }
  bool is_stand_in() const override {
    const Conv2d& convolution = convolution_of(operation());
    return convolution.engine.empty() && !pytorch_uses_cudnn(convolution);
  }
  Bytes workspace() const override { return plan_.workspace; }

  void run(NativeQueue queue) override { execution_.run(plan_, queue); }

 private:
  PlanExecution on_operands() const {
    const auto ids = operand_ids(convolution_of(operation()).direction);
    return {context(),
            handle_,
            {ids.begin(), ids.end()},
            {operand_pointer(0), operand_pointer(1), operand_pointer(2)}};
  }

  cudnnHandle_t handle_;
  ConvolutionGraph graph_;
  PlanExecution execution_;
  EnginePlan plan_;  // last: choosing it binds the operands
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
