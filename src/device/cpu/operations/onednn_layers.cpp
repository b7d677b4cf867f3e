#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "device/cpu/operations/onednn_layer_primitives.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::memory;

// oneDNN keeps variances where the operands are deviations, 1/sqrt(variance + eps): converted within each
// launch, one number for each channel or row.
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
    // Asked for beside its gradient, though nothing depends on it: any vector of its length will do.
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
  // oneDNN's max pooling keeps places within the window, PyTorch's within the plane.
  std::optional<Primitive> operator()(const Pool2d& pool) const {
    if (pool.kind == PoolKind::max) return std::nullopt;
    return average_primitive(engine_, average_shape(pool), pool.pass);
  }
  std::optional<Primitive> operator()(const Softmax& softmax) const {
    const memory::desc matrix = matrix_of(softmax.rows, softmax.columns, softmax.dtype);
    return softmax_primitive(engine_, softmax.logarithm, matrix, softmax.pass);
  }
  // Version 2 has no weights in bf16.
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

}  // namespace jitterscope::cpu
