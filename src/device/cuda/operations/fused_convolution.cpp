// Fused chains that begin with a convolution: a graph of cuDNN's with a node for each step, which its engines
// run as one kernel.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/engine_selection.hpp"
#include "device/cuda/operations/fused_operations.hpp"
#include "device/cuda/operations/plan_execution.hpp"
#include "device/fusion.hpp"
#include "operation/chain.hpp"

namespace jitterscope::cuda {
namespace {

const Chain& convolution_chain(const Operation& operation) { return std::get<Chain>(operation.parameters()); }
const Conv2d& leading_convolution(const Chain& chain) { return convolution_of(chain.steps.front()); }

// Of a chain's operand; what lies between two steps comes behind them.
std::int64_t id_of_operand(std::size_t operand) { return 1 + static_cast<std::int64_t>(operand); }

cudnnPointwiseMode_t mode_of(const Operation& step) {
  const auto* elementwise = std::get_if<Elementwise>(&step.parameters());
  if (elementwise == nullptr) return CUDNN_POINTWISE_ADD;
  switch (elementwise->kind) {
    case ElementwiseKind::mul: return CUDNN_POINTWISE_MUL;
    case ElementwiseKind::relu:
    case ElementwiseKind::relu6: return CUDNN_POINTWISE_RELU_FWD;
    case ElementwiseKind::sigmoid: return CUDNN_POINTWISE_SIGMOID_FWD;
    case ElementwiseKind::tanh: return CUDNN_POINTWISE_TANH_FWD;
    case ElementwiseKind::silu: return CUDNN_POINTWISE_SWISH_FWD;
    case ElementwiseKind::gelu: return CUDNN_POINTWISE_GELU_FWD;
    default: return CUDNN_POINTWISE_ADD;
  }
}

/// The descriptors of a chain's graph. They are kept as long as it is.
class FusedGraph {
 public:
  FusedGraph(cudnnHandle_t handle, const Chain& chain) : chain_(chain) {
    const Conv2d& conv = leading_convolution(chain);
    const CudnnDescriptor& x = stored(0, 0, {conv.n, conv.c, conv.h, conv.w});
    const CudnnDescriptor& w = stored(0, 1, {conv.k, conv.c / conv.groups, conv.r, conv.s});
    const CudnnDescriptor& description = keep(convolution_description(conv));
    const CudnnDescriptor* passed = &passing(0);
    nodes_.push_back(convolution_node(x, w, *passed, description, conv));
    for (std::size_t step = 1; step < chain.steps.size(); ++step) {
      const Operation& own = chain.steps[step];
      const bool is_last = step + 1 == chain.steps.size();
      const CudnnDescriptor& result =
          is_last ? stored(step, first_output(own), result_shape()) : passing(step);
      nodes_.push_back(pointwise(step, *passed, result));
      passed = &result;
    }
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, nodes_);
    graph_.finalize();
  }

  const CudnnDescriptor& graph() const { return graph_; }

 private:
  ImageShape result_shape() const {
    const Conv2d& conv = leading_convolution(chain_);
    return {conv.n, conv.k, conv.out_h(), conv.out_w()};
  }
  const CudnnDescriptor& keep(CudnnDescriptor descriptor) {
    return *kept_.emplace_back(std::make_unique<CudnnDescriptor>(std::move(descriptor)));
  }
  const CudnnDescriptor& stored(std::size_t step, std::size_t operand, const ImageShape& shape) {
    std::size_t index = 0;
    while (places_[index].step != step || places_[index].operand != operand) ++index;
    return keep(
        convolution_tensor(id_of_operand(index), shape, leading_convolution(chain_), kTensorAlignment));
  }
  const CudnnDescriptor& passing(std::size_t step) {
    return keep(passing_tensor(id_of_operand(places_.size() + step), result_shape(),
                               leading_convolution(chain_).layout));
  }

  CudnnDescriptor pointwise(std::size_t step, const CudnnDescriptor& x, const CudnnDescriptor& result) {
    const Operation& own = chain_.steps[step];
    CudnnDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode_of(own));
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    const auto* elementwise = std::get_if<Elementwise>(&own.parameters());
    if (elementwise != nullptr && elementwise->kind == ElementwiseKind::relu6) {
      how.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 6.0);
    }
    if (elementwise != nullptr && elementwise->kind == ElementwiseKind::silu) {
      how.set(CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE, 1.0);
    }
    how.finalize();
    CudnnDescriptor node(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(how)));
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (!is_activation(own)) {
      const bool is_bias = std::holds_alternative<BiasAdd>(own.parameters());
      const ImageShape shape = is_bias ? ImageShape{1, leading_convolution(chain_).k, 1, 1} : result_shape();
      node.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, stored(step, 1, shape));
    }
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1.0f);
    node.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1.0f);
    node.finalize();
    return node;
  }

  const Chain& chain_;
  std::vector<ChainOperand> places_ = chain_operands(chain_);
  std::vector<std::unique_ptr<CudnnDescriptor>> kept_;
  std::vector<CudnnDescriptor> nodes_;
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

class FusedConvolution : public CudaOperation {
 public:
  FusedConvolution(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), Bytes(kTensorAlignment)),
        handle_(cudnn_handle()),
        graph_(handle_, convolution_chain(operation())),
        execution_(on_operands()),
        plan_(first_engine(handle_, graph_.graph(), leading_convolution(convolution_chain(operation())),
                           operation().text(),
                           [this](const EnginePlan& candidate) { return execution_.try_plan(candidate); })) {
    poison_outputs();  // trying the plan has written them
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override { return plan_.tag + " of a graph"; }
  Bytes workspace() const override { return plan_.workspace; }

  void run(NativeQueue queue) override { execution_.run(plan_, queue); }

 private:
  PlanExecution on_operands() const {
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    const std::size_t count = operation().operands().size();
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(id_of_operand(i));
      pointers.push_back(operand_pointer(i));
    }
    return {context(), handle_, std::move(ids), std::move(pointers)};
  }

  cudnnHandle_t handle_;
  FusedGraph graph_;
  PlanExecution execution_;
  EnginePlan plan_;  // last: choosing it binds the operands
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_fused_convolution(const Context& context,
                                                             const Operation& operation,
                                                             const InputData& data) {
  cudnn();  // before the operands are allocated: a missing library is the clearer reason
  return std::make_unique<FusedConvolution>(context, operation, data);
}

}  // namespace jitterscope::cuda
