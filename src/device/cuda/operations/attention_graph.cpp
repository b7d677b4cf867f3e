#include "device/cuda/operations/attention_graph.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace jitterscope::cuda {

namespace {

using Shape = std::array<std::int64_t, 4>;

struct Tensor {
  const CudnnDescriptor* descriptor;
  Shape dimensions;
};

Shape packed(const Shape& d) { return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}; }
/// Of a tensor of batch, heads, sequence and dim that lies in memory in another order.
Shape ordered(const Shape& d, HeadLayout layout) {
  switch (layout) {
    case HeadLayout::bhsd: break;
    case HeadLayout::bshd: return {d[2] * d[1] * d[3], d[3], d[1] * d[3], 1};
    case HeadLayout::sbhd: return {d[1] * d[3], d[3], d[0] * d[1] * d[3], 1};
  }
  return packed(d);
}
/// The last two dimensions exchanged, in place.
Shape exchanged(Shape shape) {
  std::swap(shape[2], shape[3]);
  return shape;
}

}  // namespace

/// Adds tensors and operations one by one, each operation with a new tensor for its result where none is
/// given.
class AttentionGraphBuilder {
 public:
  AttentionGraphBuilder(AttentionGraph& graph, const Attention& attention)
      : to_(graph),
        attention_(attention),
        type_(attention.dtype == DataType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        query_shape_{attention.batch, attention.heads, attention.queries, attention.dim},
        key_shape_{attention.batch, attention.kv_heads, attention.keys, attention.dim},
        score_shape_{attention.batch, attention.heads, attention.queries, attention.keys},
        row_shape_{attention.batch, attention.heads, attention.queries, 1} {}

  void forward();
  void backward();
  void finish(cudnnHandle_t handle) {
    to_.graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    to_.graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   std::span<const cudnnBackendDescriptor_t>(to_.operations_));
    to_.graph_.finalize();
  }

 private:
  CudnnDescriptor& part(cudnnBackendDescriptorType_t type) {
    return *to_.parts_.emplace_back(std::make_unique<CudnnDescriptor>(type));
  }
  void add_operation(CudnnDescriptor& operation) {
    operation.finalize();
    to_.operations_.push_back(operation.get());
  }

  // 16 bytes is what cudnn-frontend says of tensors whose alignment nobody gave.
  Tensor tensor(std::int64_t id, const Shape& dimensions, const Shape& strides, cudnnDataType_t type,
                cudnnBackendAttributeName_t flag, bool flagged) {
    CudnnDescriptor& made = part(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    made.set(flag, CUDNN_TYPE_BOOLEAN, flagged);
    made.finalize();
    return {&made, dimensions};
  }
  Tensor stored(AttentionTensor id, const Shape& dimensions) {
    return tensor(id, dimensions, ordered(dimensions, attention_.layout), type_, CUDNN_ATTR_TENSOR_IS_VIRTUAL,
                  false);
  }
  /// Packed in any layout.
  Tensor stored_sum(AttentionTensor id, const Shape& dimensions) {
    return tensor(id, dimensions, packed(dimensions), CUDNN_DATA_FLOAT, CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  }
  /// A matrix seen as its transpose: cuDNN's products take their second factor as it is multiplied.
  Tensor stored_transposed(AttentionTensor id, const Shape& dimensions) {
    return tensor(id, exchanged(dimensions), exchanged(ordered(dimensions, attention_.layout)), type_,
                  CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  }
  Tensor passing(const Shape& dimensions, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return passing_strided(dimensions, packed(dimensions), type);
  }
  Tensor passing_strided(const Shape& dimensions, const Shape& strides, cudnnDataType_t type) {
    return tensor(next_id_++, dimensions, strides, type, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  }
  Tensor number(float value) {
    const std::int64_t id = next_id_++;
    to_.numbers_[id] = value;
    return tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  }

  /// The inputs that a mode does not have are null.
  struct Inputs {
    Tensor x;
    const Tensor* b = nullptr;
    const Tensor* t = nullptr;
  };
  Tensor pointwise(cudnnPointwiseMode_t mode, const Inputs& in, const Tensor& result,
                   cudnnDataType_t compute = CUDNN_DATA_FLOAT, std::int64_t axis = -1) {
    CudnnDescriptor& how = part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
    if (mode == CUDNN_POINTWISE_GEN_INDEX) how.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    how.finalize();
    CudnnDescriptor& operation = part(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *in.x.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result.descriptor);
    if (in.b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *in.b->descriptor);
    if (in.t != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *in.t->descriptor);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1.0f);
    add_operation(operation);
    return result;
  }
  Tensor binary(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b) {
    return pointwise(mode, {x, &b}, passing(x.dimensions));
  }

  Tensor multiply(const Tensor& a, const Tensor& b, const Tensor& result) {
    CudnnDescriptor& how = part(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    how.finalize();
    CudnnDescriptor& operation = part(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *result.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    add_operation(operation);
    return result;
  }

  Tensor reduce(cudnnReduceTensorOp_t mode, const Tensor& x, const Tensor& result) {
    CudnnDescriptor& how = part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    how.finalize();
    CudnnDescriptor& operation = part(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *result.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    add_operation(operation);
    return result;
  }

  Tensor reduce_rows(cudnnReduceTensorOp_t mode, const Tensor& x) {
    return reduce(mode, x, passing(row_shape_));
  }
  /// A gradient of keys or values. Heads of queries that share them have one each, and those are summed.
  void multiply_for_keys(const Tensor& weights, const Tensor& rows, AttentionTensor gradient) {
    const Tensor result = stored(gradient, key_shape_);
    if (attention_.group() == 1) {
      multiply(weights, rows, result);
      return;
    }
    const Shape each = {attention_.batch, attention_.heads, attention_.keys, attention_.dim};
    reduce(CUDNN_REDUCE_TENSOR_ADD, multiply(weights, rows, passing(each, type_)), result);
  }

  Tensor reshape(const Tensor& x, const Tensor& result) {
    CudnnDescriptor& operation = part(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *result.descriptor);
    add_operation(operation);
    return result;
  }
  /// Scores as their transpose, in the type of the products.
  Tensor transposed_scores(const Tensor& scores) {
    return reshape(scores, passing_strided(exchanged(score_shape_), exchanged(packed(score_shape_)), type_));
  }

  Tensor scale() { return number(static_cast<float>(1.0 / std::sqrt(static_cast<double>(attention_.dim)))); }

  // cuDNN before 9.10 wants the lowest number in place of minus infinity.
  Tensor mask_future(const Tensor& scores) {
    if (!attention_.causal) return scores;
    const bool infinite = cudnn().cudnnGetVersion() >= 91000;
    const Tensor never =
        number(infinite ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::lowest());
    const Tensor row = pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, passing(score_shape_, CUDNN_DATA_INT32),
                                 CUDNN_DATA_FLOAT, 2);
    const Tensor column = pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores},
                                    passing(score_shape_, CUDNN_DATA_INT32), CUDNN_DATA_FLOAT, 3);
    const Tensor seen = pointwise(CUDNN_POINTWISE_CMP_GE, {row, &column},
                                  passing(score_shape_, CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, &never, &seen}, passing(score_shape_));
  }

  AttentionGraph& to_;
  const Attention& attention_;
  cudnnDataType_t type_;
  Shape query_shape_, key_shape_, score_shape_, row_shape_;
  std::int64_t next_id_ = kFirstNumber;
};

void AttentionGraphBuilder::forward() {
  const Tensor queries = stored(kQueries, query_shape_);
  const Tensor keys = stored_transposed(kKeys, key_shape_);
  const Tensor product = multiply(queries, keys, passing(score_shape_));
  const Tensor scores = mask_future(binary(CUDNN_POINTWISE_MUL, product, scale()));

  const Tensor largest = reduce_rows(CUDNN_REDUCE_TENSOR_MAX, scores);
  const Tensor below = binary(CUDNN_POINTWISE_SUB, scores, largest);
  const Tensor powers = pointwise(CUDNN_POINTWISE_EXP, {below}, passing(score_shape_));
  const Tensor sum = reduce_rows(CUDNN_REDUCE_TENSOR_ADD, powers);
  const Tensor logarithm = pointwise(CUDNN_POINTWISE_LOG, {sum}, passing(row_shape_));
  pointwise(CUDNN_POINTWISE_ADD, {largest, &logarithm}, stored_sum(kLogSumExp, row_shape_));
  const Tensor shares = pointwise(CUDNN_POINTWISE_DIV, {powers, &sum}, passing(score_shape_, type_));

  multiply(shares, stored(kValues, key_shape_), stored(kOutput, query_shape_));
}

void AttentionGraphBuilder::backward() {
  const Tensor queries = stored(kQueries, query_shape_);
  const Tensor keys = stored_transposed(kKeys, key_shape_);
  const Tensor gradient = stored(kOutputGradient, query_shape_);
  const Tensor output = stored(kOutput, query_shape_);

  const Tensor products = pointwise(CUDNN_POINTWISE_MUL, {gradient, &output}, passing(query_shape_));
  const Tensor one = number(1.0f);
  const Tensor row_products = reduce_rows(CUDNN_REDUCE_TENSOR_ADD, products);
  const Tensor row_sum =
      pointwise(CUDNN_POINTWISE_MUL, {row_products, &one}, stored_sum(kRowSum, row_shape_));

  const Tensor factor = scale();
  const Tensor product = multiply(queries, keys, passing(score_shape_));
  const Tensor scaled = binary(CUDNN_POINTWISE_MUL, product, factor);
  const Tensor below = binary(CUDNN_POINTWISE_SUB, scaled, stored_sum(kLogSumExp, row_shape_));
  const Tensor shares = pointwise(CUDNN_POINTWISE_EXP, {mask_future(below)}, passing(score_shape_));
  multiply_for_keys(transposed_scores(shares), gradient, kValueGradient);

  const Tensor values = stored_transposed(kValues, key_shape_);
  const Tensor share_gradients = multiply(gradient, values, passing(score_shape_));
  const Tensor centered = binary(CUDNN_POINTWISE_SUB, share_gradients, row_sum);
  const Tensor weighted = binary(CUDNN_POINTWISE_MUL, centered, shares);
  const Tensor score_gradients = binary(CUDNN_POINTWISE_MUL, weighted, factor);
  multiply_for_keys(transposed_scores(score_gradients), queries, kKeyGradient);

  const Tensor keys_again =
      reshape(keys, passing_strided(key_shape_, ordered(key_shape_, attention_.layout), type_));
  const Tensor query_sum = multiply(score_gradients, keys_again, stored_sum(kQueryGradientSum, query_shape_));
  pointwise(CUDNN_POINTWISE_IDENTITY, {query_sum}, stored(kQueryGradient, query_shape_));
}

std::vector<std::int64_t> attention_operand_ids(Pass pass) {
  if (pass != Pass::backward) return {kQueries, kKeys, kValues, kOutput, kLogSumExp};
  return {kOutputGradient, kQueries,       kKeys,        kValues,       kOutput,
          kLogSumExp,      kQueryGradient, kKeyGradient, kValueGradient};
}

AttentionGraph::AttentionGraph(cudnnHandle_t handle, const Attention& attention, Pass pass) {
  AttentionGraphBuilder builder(*this, attention);
  if (pass == Pass::backward) {
    builder.backward();
  } else {
    builder.forward();
  }
  builder.finish(handle);
}

}  // namespace jitterscope::cuda
