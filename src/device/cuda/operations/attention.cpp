#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/cudnn.hpp"
#include "device/cuda/operations/cudnn_engine.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

// Attention as a graph for cuDNN: products, pointwise steps and reductions, which cuDNN knows as one kernel.

namespace jitterscope::cuda {

/// Ids of the tensors in memory.
enum AttentionTensor : std::int64_t {
  kQueries = 1,
  kKeys,
  kValues,
  kOutput,
  kLogSumExp,
  kOutputGradient,
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kQueryGradientSum,  ///< scratch of the backward pass: f32, sized like dq
  kRowSum,            ///< scratch of the backward pass: f32, sized like logsumexp
  kFirstNumber,       ///< ids from here on are numbers given by value
};

/// Returns the ids in the order of Operation::operands().
std::vector<std::int64_t> attention_operand_ids(Pass pass);

/// Has the nodes of cudnn-frontend's scaled dot product attention, in its order: cuDNN recognizes the pattern
/// as a whole, so another graph with the same meaning may have no engine.
class AttentionGraph {
 public:
  AttentionGraph(cudnnHandle_t handle, const Attention& attention, Pass pass);

  const CudnnDescriptor& graph() const { return graph_; }
  /// Numbers given by value, by id; their addresses stay.
  const std::map<std::int64_t, float>& numbers() const { return numbers_; }

 private:
  friend class AttentionGraphBuilder;

  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::map<std::int64_t, float> numbers_;
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

// Plans of cuDNN's attention, built once in a process.

struct AttentionPlan {
  AttentionPlan(cudnnHandle_t handle, const Operation& operation, Pass pass);

  AttentionGraph graph;
  std::string tag;
  CudnnDescriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  Bytes workspace;
};

/// Returns the first plan of cuDNN's heuristics that can be built, as cudnn-frontend takes it. It lives as
/// long as the process, as in PyTorch: cuDNN compiles its kernel at run time and unloads it with the plan,
/// and CUPTI (13.0) gives the next kernel that is loaded in its place the old one's name. Throws FailedError
/// with cuDNN's reason if no plan can be built.
const AttentionPlan& attention_plan(cudnnHandle_t handle, const Operation& operation, Pass pass);

// Attention by cuDNN. Whether PyTorch runs this kernel, its flash attention or another depends on its version
// and settings; provider torch runs what PyTorch chooses.

namespace {

const Attention& attention_of(const Operation& operation) {
  return std::get<Attention>(operation.parameters());
}

/// Ids of the graph's tensors, with their addresses.
using Addresses = std::vector<std::pair<std::int64_t, void*>>;

/// One pass with its own workspace.
class AttentionPass {
 public:
  AttentionPass(const Context& context, const Operation& operation, Pass pass)
      : handle_(cudnn_handle()),
        plan_(attention_plan(handle_, operation, pass)),
        workspace_(context, plan_.workspace) {}

  void bind(const Addresses& addresses) {
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    for (const auto& [id, pointer] : addresses) {
      ids.push_back(id);
      pointers.push_back(pointer);
    }
    for (const auto& [id, value] : plan_.graph.numbers()) {
      ids.push_back(id);
      pointers.push_back(const_cast<float*>(&value));  // NOLINT: cuDNN reads it, and takes void*
    }
    variants_ = variant_pack(ids, pointers, workspace_.pointer());
  }

  void run(CUstream stream) {
    check_cudnn(cudnn().cudnnSetStream(handle_, stream), "cudnnSetStream");
    check_cudnn(cudnn().cudnnBackendExecute(handle_, plan_.plan.get(), variants_.get()), plan_.tag);
  }
  const std::string& tag() const { return plan_.tag; }
  Bytes workspace() const { return workspace_.size(); }

 private:
  cudnnHandle_t handle_;
  const AttentionPlan& plan_;
  CudnnDescriptor variants_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  Workspace workspace_;
};

class CudnnAttention : public CudaOperation {
 public:
  CudnnAttention(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data),
        attention_(attention_of(operation())),
        pass_(shared, operation(), attention_.pass) {
    if (attention_.pass == Pass::backward) {
      fill_forward_results();
      allocate_sums();
    }
    pass_.bind(addresses());
    pass_.run(context().stream());  // cuDNN compiles and loads its kernels at the first launch
    poison_outputs();
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override { return pass_.tag(); }
  Bytes workspace() const override { return pass_.workspace() + query_sum_.size() + row_sum_.size(); }
  void run(NativeQueue queue) override { pass_.run(static_cast<CUstream>(queue)); }

 private:
  Addresses addresses() const {
    Addresses addresses;
    const std::vector<std::int64_t> ids = attention_operand_ids(attention_.pass);
    for (std::size_t i = 0; i < ids.size(); ++i) addresses.emplace_back(ids[i], operand_pointer(i));
    if (attention_.pass == Pass::backward) {
      addresses.emplace_back(kQueryGradientSum, query_sum_.pointer());
      addresses.emplace_back(kRowSum, row_sum_.pointer());
    }
    return addresses;
  }

  // Fills y and logsumexp by a forward pass: shares that add up to one keep every value in f16's range.
  void fill_forward_results() {
    AttentionPass forward(context(), operation(), Pass::forward);
    forward.bind({{kQueries, operand_pointer(1)},
                  {kKeys, operand_pointer(2)},
                  {kValues, operand_pointer(3)},
                  {kOutput, operand_pointer(4)},
                  {kLogSumExp, operand_pointer(5)}});
    forward.run(context().stream());
    check(driver().cuCtxSynchronize(), "the forward pass before " + operation().text());
  }

  // Since 9.6 cuDNN clears the sum of dq itself; before, the caller must, by one more launch each time.
  void allocate_sums() {
    if (cudnn().cudnnGetVersion() < 90600) {
      throw UsageError("attention: pass=backward needs cuDNN 9.6 or newer; install it, or time pass=forward");
    }
    const std::int64_t rows = attention_.batch * attention_.heads * attention_.queries;
    query_sum_ = DeviceMemory(Bytes(rows * attention_.dim * 4));
    row_sum_ = DeviceMemory(Bytes(rows * 4));
  }

  Attention attention_;
  AttentionPass pass_;
  DeviceMemory query_sum_, row_sum_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_attention(const Context& context, const Operation& operation,
                                                     const InputData& data) {
  const DataType dtype = attention_of(operation).dtype;
  if (dtype != DataType::f16 && dtype != DataType::bf16) {
    throw UsageError(fmt::format("attention: cuDNN has it in f16 and bf16, not in {}", to_string(dtype)));
  }
  cudnn();  // before operands are allocated: reports a missing library first
  return std::make_unique<CudnnAttention>(context, operation, data);
}

AttentionPlan::AttentionPlan(cudnnHandle_t handle, const Operation& operation, Pass pass)
    : graph(handle, std::get<Attention>(operation.parameters()), pass) {
  std::string reason = "it offers none for this shape";
  for (const CudnnDescriptor& configuration : ask_heuristics(graph.graph(), CUDNN_HEUR_MODE_A)) {
    tag = make_tag(pass == Pass::backward ? "SdpaBwd" : "SdpaFwd", configuration, engine_of(configuration));
    CudnnDescriptor candidate(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    candidate.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    candidate.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    const cudnnStatus_t status = candidate.try_finalize();
    if (status == CUDNN_STATUS_SUCCESS) {
      plan = std::move(candidate);
      workspace = Bytes(plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64));
      return;
    }
    reason = fmt::format("{}: {}", tag, cudnn_failure(status));
  }
  throw FailedError(
      fmt::format("cuDNN has no engine that runs {} here; the last reason: {}", operation.text(), reason));
}

const AttentionPlan& attention_plan(cudnnHandle_t handle, const Operation& operation, Pass pass) {
  using Key = std::tuple<cudnnHandle_t, std::string, Pass>;
  static std::mutex mutex;
  // Never freed: cuDNN may be unloaded before static objects here are destroyed.
  static auto& plans = *new std::map<Key, std::unique_ptr<AttentionPlan>>;  // NOLINT(*-owning-memory)
  const std::lock_guard lock(mutex);
  std::unique_ptr<AttentionPlan>& plan = plans[Key(handle, operation.text(), pass)];
  if (!plan) plan = std::make_unique<AttentionPlan>(handle, operation, pass);
  return *plan;
}

namespace {

using Shape = std::array<std::int64_t, 4>;

struct Tensor {
  const CudnnDescriptor* descriptor;
  Shape dimensions;
};

Shape packed(const Shape& d) { return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}; }
/// Returns the strides of a tensor of batch, heads, sequence and dim that is stored in `layout`.
Shape ordered(const Shape& d, HeadLayout layout) {
  switch (layout) {
    case HeadLayout::bhsd: break;
    case HeadLayout::bshd: return {d[2] * d[1] * d[3], d[3], d[1] * d[3], 1};
    case HeadLayout::sbhd: return {d[1] * d[3], d[3], d[0] * d[1] * d[3], 1};
  }
  return packed(d);
}
/// Exchanges the last two dimensions.
Shape exchanged(Shape shape) {
  std::swap(shape[2], shape[3]);
  return shape;
}

}  // namespace

/// Adds tensors and operations one by one. An operation gets a new tensor for its result if none is given.
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

  // cudnn-frontend declares 16 bytes for tensors whose alignment nobody gave.
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
  /// Packed in any layout, in f32.
  Tensor stored_sum(AttentionTensor id, const Shape& dimensions) {
    return tensor(id, dimensions, packed(dimensions), CUDNN_DATA_FLOAT, CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  }
  /// Describes a matrix as its transpose: cuDNN's products take their second factor as it is multiplied.
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

  /// Inputs that a mode does not have are null.
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
  /// Computes a gradient of keys or values. Query heads that share them have one each, which are summed.
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
  /// Returns the transposed scores, in the type of the products.
  Tensor transposed_scores(const Tensor& scores) {
    return reshape(scores, passing_strided(exchanged(score_shape_), exchanged(packed(score_shape_)), type_));
  }

  Tensor scale() { return number(static_cast<float>(1.0 / std::sqrt(static_cast<double>(attention_.dim)))); }

  // cuDNN before 9.10 needs the lowest number in place of minus infinity.
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
