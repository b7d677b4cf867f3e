#include "device/cuda/operations/convolution_graph.hpp"

namespace jitterscope::cuda {
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

// Strides of size-one dimensions are the packed ones too: any value addresses the same elements, but
// cuDNN's choice depends on it, and PyTorch rewrites them so (fixSizeOneDimStride).
ImageShape packed_strides(const ImageShape& shape, Layout layout) {
  const auto& [n, c, h, w] = shape;
  if (layout == Layout::nhwc) return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
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
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor_type(convolution.dtype));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, packed_strides(shape, convolution.layout));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor passing_tensor(std::int64_t id, const ImageShape& shape, Layout layout) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, packed_strides(shape, layout));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
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
