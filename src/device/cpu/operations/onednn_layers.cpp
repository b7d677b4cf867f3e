#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "device/cpu/operations/onednn_primitives.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "operation/operation.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::memory;

// oneDNN keeps variances, and our operands are deviations, 1/sqrt(variance + eps). Each launch converts them,
// one number for each channel or row.
class OnednnLayer final : public CpuOperation {
 public:
  OnednnLayer(const Operation& operation, const InputTable& inputs, const dnnl::engine& engine,
              const Primitive& primitive)
      : CpuOperation(operation, inputs),
        stream_(engine),
        primitive_(primitive.primitive),
        algorithm_(primitive.implementation),
        scratchpad_(Bytes(static_cast<std::int64_t>(primitive.scratchpad.get_size()))) {
    const std::vector<Operand> operands = operation.operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Primitive::Argument& argument = primitive.arguments[i];
      void* place = operands[i].name == "deviation" ? place_of_variance(operands[i], i) : data(i);
      arguments_.emplace(argument.id, dnnl::memory(argument.desc, engine, place));
    }
    // oneDNN needs the shift for its gradient, though nothing depends on it: any vector of its length does.
    if (arguments_.count(DNNL_ARG_DIFF_SHIFT) == 1) {
      arguments_.emplace(DNNL_ARG_SHIFT, arguments_.at(DNNL_ARG_SCALE));
    }
    if (scratchpad_.size() > Bytes(0)) {
      arguments_.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(primitive.scratchpad, engine, scratchpad_.data()));
    }
  }

  std::string provider() const override { return "onednn"; }
  bool runs_reference_loops() const override { return false; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return scratchpad_.size() + variance_.size(); }

  void run(NativeQueue) override {
    float* deviation = deviation_ ? data<float>(*deviation_) : nullptr;
    if (deviation != nullptr && !is_output_) {
      auto* variance = reinterpret_cast<float*>(variance_.data());
      std::transform(deviation, deviation + count_, variance,
                     [](float value) { return 1.0f / (value * value) - kNormalizationEpsilon; });
    }
    primitive_.execute(stream_, arguments_);
    stream_.wait();
    if (deviation != nullptr && is_output_) {
      std::transform(deviation, deviation + count_, deviation,
                     [](float value) { return 1.0f / std::sqrt(value + kNormalizationEpsilon); });
    }
  }

  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions = CpuOperation::memory();
    for (const AlignedMemory* own : {&scratchpad_, &variance_}) {
      if (own->size() > Bytes(0)) regions.push_back({own->data(), own->size()});
    }
    return regions;
  }

 private:
  void* place_of_variance(const Operand& operand, std::size_t index) {
    deviation_ = index;
    count_ = operand.count;
    is_output_ = operand.role == OperandRole::output;
    if (is_output_) return data(index);
    variance_ = AlignedMemory(operand.bytes());
    return variance_.data();
  }

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::string algorithm_;
  AlignedMemory scratchpad_, variance_;
  std::optional<std::size_t> deviation_;
  std::int64_t count_ = 0;
  bool is_output_ = false;
  std::unordered_map<int, dnnl::memory> arguments_;
};

memory::desc vector_of(std::int64_t count, DataType dtype) {
  return {{count}, storage_type(dtype), memory::dims{1}};
}
memory::desc matrix_of(std::int64_t rows, std::int64_t columns, DataType dtype) {
  return {{rows, columns}, storage_type(dtype), memory::dims{columns, 1}};
}

class Planner {
 public:
  explicit Planner(const dnnl::engine& engine) : engine_(engine) {}

  std::optional<Primitive> operator()(const Elementwise& shape) const {
    const std::optional<Activation> activation = activation_of(shape.kind);
    if (!activation) return std::nullopt;
    return activation_primitive(engine_, *activation, vector_of(shape.count, shape.dtype));
  }
  // oneDNN's max pooling returns places within the window, PyTorch's within the plane.
  std::optional<Primitive> operator()(const Pool2d& pool) const {
    if (pool.kind == PoolKind::max) return std::nullopt;
    return average_primitive(engine_, average_shape(pool), pool.pass);
  }
  std::optional<Primitive> operator()(const Softmax& softmax) const {
    const memory::desc matrix = matrix_of(softmax.rows, softmax.columns, softmax.dtype);
    return softmax_primitive(engine_, softmax.logarithm, matrix, softmax.pass);
  }
  // oneDNN 2 has no weights in bf16.
  std::optional<Primitive> operator()(const BatchNorm& norm) const {
    if (norm.weights != DataType::f32) return std::nullopt;
    return batch_norm_primitive(engine_,
                                image_tensor(norm.n, norm.c, norm.h, norm.w, norm.dtype, norm.layout),
                                vector_of(norm.c, DataType::f32), norm.pass);
  }
  std::optional<Primitive> operator()(const LayerNorm& norm) const {
    if (norm.dtype != DataType::f32) return std::nullopt;
    return layer_norm_primitive(engine_, matrix_of(norm.rows, norm.columns, norm.dtype),
                                vector_of(norm.rows, DataType::f32), vector_of(norm.columns, DataType::f32),
                                norm.pass);
  }
  template <class Shape>
  std::optional<Primitive> operator()(const Shape&) const {
    return std::nullopt;
  }

 private:
  const dnnl::engine& engine_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_onednn_layer(const Operation& operation,
                                                        const InputTable& inputs) {
  if (operation.dtype() != DataType::f32 && operation.dtype() != DataType::bf16) return nullptr;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  try {
    const std::optional<Primitive> primitive = std::visit(Planner(engine), operation.parameters());
    if (!primitive) return nullptr;
    return std::make_unique<OnednnLayer>(operation, inputs, engine, *primitive);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

// Attention in f32, one head at a time: oneDNN's matrix products, and our softmax of whole rows between.

namespace {

memory::desc matrix(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{columns, 1}};
}
/// Stored as columns x rows.
memory::desc transposed(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{1, rows}};
}

class Product {
 public:
  Product(const dnnl::engine& engine, const memory::desc& a, const memory::desc& b, const memory::desc& c,
          const dnnl::post_ops& post_ops = {})
      : engine_(engine), shape_{a, b, c, {}}, made_(matmul_primitive(engine, shape_, post_ops)) {}

  std::size_t scratchpad() const { return made_.scratchpad.get_size(); }
  const std::string& implementation() const { return made_.implementation; }
  void run(dnnl::stream& stream, void* scratchpad, float* a, float* b, float* c) const {
    made_.primitive.execute(stream,
                            {{DNNL_ARG_SRC, dnnl::memory(shape_.a, engine_, a)},
                             {DNNL_ARG_WEIGHTS, dnnl::memory(shape_.b, engine_, b)},
                             {DNNL_ARG_DST, dnnl::memory(shape_.c, engine_, c)},
                             {DNNL_ARG_SCRATCHPAD, dnnl::memory(made_.scratchpad, engine_, scratchpad)}});
  }

 private:
  dnnl::engine engine_;
  MatmulShape shape_;
  Primitive made_;
};

/// Adds the product to the output.
dnnl::post_ops adding() {
  dnnl::post_ops post_ops;
  post_ops.append_sum();
  return post_ops;
}

class OnednnAttention final : public CpuOperation {
 public:
  OnednnAttention(const Operation& operation, const InputTable& inputs, const dnnl::engine& engine)
      : CpuOperation(operation, inputs),
        shape_(std::get<Attention>(operation.parameters())),
        scale_(1.0f / std::sqrt(static_cast<float>(shape_.dim))),
        stream_(engine),
        // scores_ multiplies queries with keys, and dy with values; the others weight rows.
        scores_(engine, matrix(shape_.queries, shape_.dim), transposed(shape_.dim, shape_.keys),
                matrix(shape_.queries, shape_.keys)),
        of_keys_(engine, matrix(shape_.queries, shape_.keys), matrix(shape_.keys, shape_.dim),
                 matrix(shape_.queries, shape_.dim)),
        of_queries_(engine, transposed(shape_.keys, shape_.queries), matrix(shape_.queries, shape_.dim),
                    matrix(shape_.keys, shape_.dim)),
        further_queries_(engine, transposed(shape_.keys, shape_.queries), matrix(shape_.queries, shape_.dim),
                         matrix(shape_.keys, shape_.dim), adding()),
        weights_(score_bytes()),
        gradients_(shape_.pass == Pass::backward ? score_bytes() : Bytes(0)),
        scratchpad_(Bytes(
            static_cast<std::int64_t>(std::max({scores_.scratchpad(), of_keys_.scratchpad(),
                                                of_queries_.scratchpad(), further_queries_.scratchpad()})))) {
  }

  std::string provider() const override { return "onednn"; }
  bool runs_reference_loops() const override { return false; }
  std::string algorithm() const override {
    return "matmul " + scores_.implementation() + " of each head, softmax of rows";
  }
  Bytes workspace() const override { return weights_.size() + gradients_.size() + scratchpad_.size(); }

  void run(NativeQueue) override {
    for (std::int64_t head = 0; head < shape_.batch * shape_.heads; ++head) {
      shape_.pass == Pass::backward ? backward(head) : forward(head);
    }
    stream_.wait();
  }

  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions = CpuOperation::memory();
    for (const AlignedMemory* own : {&weights_, &gradients_, &scratchpad_}) {
      if (own->size() > Bytes(0)) regions.push_back({own->data(), own->size()});
    }
    return regions;
  }

 private:
  Bytes score_bytes() const {
    return Bytes(shape_.queries * shape_.keys * static_cast<std::int64_t>(sizeof(float)));
  }
  float* weights() const { return reinterpret_cast<float*>(weights_.data()); }
  float* gradients() const { return reinterpret_cast<float*>(gradients_.data()); }
  float* of_query(std::size_t operand, std::int64_t head) const {
    return data<float>(operand) + head * shape_.queries * shape_.dim;
  }
  /// Returns the key head that a query head attends to.
  float* of_key(std::size_t operand, std::int64_t head) const {
    return data<float>(operand) + head / shape_.group() * shape_.keys * shape_.dim;
  }
  std::int64_t seen(std::int64_t query) const {
    return shape_.causal ? std::min(query + 1, shape_.keys) : shape_.keys;
  }
  void multiply(const Product& product, float* a, float* b, float* c) {
    product.run(stream_, scratchpad_.data(), a, b, c);
    stream_.wait();
  }

  void forward(std::int64_t head) {
    multiply(scores_, of_query(0, head), of_key(1, head), weights());
    float* logsumexp = data<float>(4) + head * shape_.queries;
#pragma omp parallel for schedule(static)
    for (std::int64_t query = 0; query < shape_.queries; ++query) {
      logsumexp[query] = softmax(weights() + query * shape_.keys, seen(query));
    }
    multiply(of_keys_, weights(), of_key(2, head), of_query(3, head));
  }

  // Returns the logarithm of the sum of exponentials. Keys that are not seen get no weight.
  float softmax(float* row, std::int64_t keys) const {
    const float largest = *std::max_element(row, row + keys);
    float total = 0.0f;
    for (std::int64_t j = 0; j < keys; ++j) {
      row[j] = std::exp(scale_ * (row[j] - largest));
      total += row[j];
    }
    for (std::int64_t j = 0; j < keys; ++j) row[j] /= total;
    std::fill(row + keys, row + shape_.keys, 0.0f);
    return scale_ * largest + std::log(total);
  }

  // Operands: dy, q, k, v, y, logsumexp, dq, dk, dv.
  void backward(std::int64_t head) {
    multiply(scores_, of_query(1, head), of_key(2, head), weights());
    multiply(scores_, of_query(0, head), of_key(3, head), gradients());
#pragma omp parallel for schedule(static)
    for (std::int64_t query = 0; query < shape_.queries; ++query) row_gradient(head, query);
    multiply(of_keys_, gradients(), of_key(2, head), of_query(6, head));
    // The first of the heads that share these keys writes, the others add.
    const Product& keys = head % shape_.group() == 0 ? of_queries_ : further_queries_;
    multiply(keys, gradients(), of_query(1, head), of_key(7, head));
    multiply(keys, weights(), of_query(0, head), of_key(8, head));
  }

  void row_gradient(std::int64_t head, std::int64_t query) const {
    const float *dy = of_query(0, head) + query * shape_.dim, *y = of_query(4, head) + query * shape_.dim;
    const float logsumexp = data<float>(5)[head * shape_.queries + query];
    float along = 0.0f;
    for (std::int64_t i = 0; i < shape_.dim; ++i) along += dy[i] * y[i];
    float *weight = weights() + query * shape_.keys, *gradient = gradients() + query * shape_.keys;
    const std::int64_t keys = seen(query);
    for (std::int64_t j = 0; j < keys; ++j) {
      weight[j] = std::exp(scale_ * weight[j] - logsumexp);
      gradient[j] = scale_ * weight[j] * (gradient[j] - along);
    }
    std::fill(weight + keys, weight + shape_.keys, 0.0f);
    std::fill(gradient + keys, gradient + shape_.keys, 0.0f);
  }

  Attention shape_;
  float scale_;
  dnnl::stream stream_;
  Product scores_, of_keys_, of_queries_, further_queries_;
  AlignedMemory weights_, gradients_, scratchpad_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_onednn_attention(const Operation& operation,
                                                            const InputTable& inputs) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto& shape = std::get<Attention>(operation.parameters());
  const Bytes scores(shape.queries * shape.keys * static_cast<std::int64_t>(sizeof(float)));
  require_memory(operand_memory(operation) + scores + scores, operation.text());
  return std::make_unique<OnednnAttention>(operation, inputs, engine);
}

}  // namespace jitterscope::cpu
