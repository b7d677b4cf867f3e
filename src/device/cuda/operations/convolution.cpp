#include "device/cuda/operations/convolution.hpp"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/chain.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/cudnn_engine.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::cuda {
namespace {

// cuDNN is told the tensors' alignment. A named engine was found for the usual alignment.
Bytes least_alignment(const Conv2d& convolution) {
  return convolution.engine.empty() ? element_size(convolution.dtype) : Bytes(kTensorAlignment);
}

std::int64_t alignment_at(Bytes offset) {
  const auto bits = static_cast<std::uint64_t>(offset.value() % kTensorAlignment);
  return bits == 0 ? kTensorAlignment : std::int64_t{1} << std::countr_zero(bits);
}

// cuDNN runs every convolution here, even those that PyTorch runs by kernels inside its own library; the
// latter are marked as stand-ins.
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
  cudnn();  // before operands are allocated: reports a missing library first
  return std::make_unique<CudnnConvolution>(context, operation, data);
}

std::vector<EngineListing> list_convolution_engines(const Context& context, const Operation& operation) {
  context.make_current();
  cudnnHandle_t handle = cudnn_handle();
  return list_engines(handle, ConvolutionGraph(handle, convolution_of(operation)), operation);
}

// Fused chains that begin with a convolution: a cuDNN graph with a node for each step, which its engines run
// as one kernel.

namespace {

const Chain& convolution_chain(const Operation& operation) { return std::get<Chain>(operation.parameters()); }
const Conv2d& leading_convolution(const Chain& chain) { return convolution_of(chain.steps.front()); }

// Returns the id of a chain's operand. Tensors between two steps have ids after all of these.
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

/// The graph of a chain, with its descriptors, which must live as long as it.
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
  cudnn();  // before operands are allocated: reports a missing library first
  return std::make_unique<FusedConvolution>(context, operation, data);
}

namespace {

cudnnDataType_t tensor_type(DataType dtype) {
  switch (dtype) {
    case DataType::i64: return CUDNN_DATA_INT64;
    case DataType::i32: return CUDNN_DATA_INT32;
    case DataType::f64: return CUDNN_DATA_DOUBLE;
    case DataType::f32:
    case DataType::tf32: return CUDNN_DATA_FLOAT;  // TF32 is a filter on engines, not a type
    case DataType::f16: return CUDNN_DATA_HALF;
    case DataType::bf16: return CUDNN_DATA_BFLOAT16;
  }
  return CUDNN_DATA_FLOAT;
}

// Dimensions of size one get packed strides too: any value addresses the same elements, but cuDNN's choice
// depends on it, and PyTorch rewrites them so (fixSizeOneDimStride).
ImageShape packed_strides(const ImageShape& shape, Layout layout) {
  const auto& [n, c, h, w] = shape;
  if (layout == Layout::nhwc) return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

CudnnDescriptor image_tensor(std::int64_t id, const ImageShape& shape, Layout layout, cudnnDataType_t type,
                             std::int64_t alignment) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, packed_strides(shape, layout));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  return tensor;
}

struct OperationAttributes {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

OperationAttributes operation_attributes(Direction direction) {
  switch (direction) {
    case Direction::fprop: break;
    case Direction::dgrad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Direction::wgrad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

CudnnDescriptor make_graph(cudnnHandle_t handle, const CudnnDescriptor& operation) {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  return graph;
}

}  // namespace

CudnnDescriptor convolution_tensor(std::int64_t id, const ImageShape& shape, const Conv2d& convolution,
                                   std::int64_t alignment) {
  CudnnDescriptor tensor =
      image_tensor(id, shape, convolution.layout, tensor_type(convolution.dtype), alignment);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor passing_tensor(std::int64_t id, const ImageShape& shape, Layout layout) {
  CudnnDescriptor tensor = image_tensor(id, shape, layout, CUDNN_DATA_FLOAT, kTensorAlignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor convolution_description(const Conv2d& convolution) {
  const bool is_double = convolution.dtype == DataType::f64;
  const std::array<std::int64_t, 2> padding = {convolution.pad_h, convolution.pad_w};
  const std::array<std::int64_t, 2> stride = {convolution.stride_h, convolution.stride_w};
  const std::array<std::int64_t, 2> dilation = {convolution.dilation_h, convolution.dilation_w};
  CudnnDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                 is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  descriptor.finalize();
  return descriptor;
}

CudnnDescriptor convolution_node(const CudnnDescriptor& x, const CudnnDescriptor& w, const CudnnDescriptor& y,
                                 const CudnnDescriptor& description, const Conv2d& convolution) {
  const OperationAttributes names = operation_attributes(convolution.direction);
  CudnnDescriptor operation(names.type);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  operation.set(names.convolution, description);
  if (convolution.dtype == DataType::f64) {
    operation.set(names.alpha, CUDNN_TYPE_DOUBLE, 1.0);
    operation.set(names.beta, CUDNN_TYPE_DOUBLE, 0.0);
  } else {
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
  }
  operation.finalize();
  return operation;
}

std::array<std::int64_t, 3> operand_ids(Direction direction) {
  switch (direction) {
    case Direction::fprop: break;
    case Direction::dgrad: return {kTensorY, kTensorW, kTensorX};
    case Direction::wgrad: return {kTensorX, kTensorY, kTensorW};
  }
  return {kTensorX, kTensorW, kTensorY};
}

ConvolutionGraph::ConvolutionGraph(cudnnHandle_t handle, const Conv2d& p, std::int64_t alignment)
    : x(convolution_tensor(kTensorX, {p.n, p.c, p.h, p.w}, p, alignment)),
      w(convolution_tensor(kTensorW, {p.k, p.c / p.groups, p.r, p.s}, p,
                           alignment)),  // cuDNN infers the groups from this
      y(convolution_tensor(kTensorY, {p.n, p.k, p.out_h(), p.out_w()}, p, alignment)),
      convolution(convolution_description(p)),
      operation(convolution_node(x, w, y, convolution, p)),
      graph(make_graph(handle, operation)) {}

}  // namespace jitterscope::cuda
