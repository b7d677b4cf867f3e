#include "device/cpu/operations/prepare.hpp"

#include <stdexcept>

#include "device/can_run.hpp"
#include "device/cpu/onednn_facts.hpp"
#include "device/cpu/operations/carried_loops.hpp"
#include "device/torch/torch_operation.hpp"
#include "operation/limits.hpp"
#include "operation/traffic.hpp"

namespace jitterscope::cpu {
namespace {

std::unique_ptr<PreparedOperation> prepare_layer(const Operation& operation, const InputTable& inputs) {
  switch (operation.dtype()) {
    case DataType::f64: return prepare_double(operation, inputs);
    case DataType::f32:
    case DataType::bf16: return prepare_onednn(operation, inputs);
    case DataType::tf32:
    case DataType::i64:
    case DataType::i32:
    case DataType::f16: break;
  }
  throw std::logic_error("require_data_type let a type through that products are not computed in");
}

// Of one head, as a whole matrix: 1 GiB in f32. Own loops keep one row of them.
constexpr std::int64_t kLargestScores = 1 << 28;

class Preparer {
 public:
  Preparer(const Operation& operation, const InputTable& inputs) : operation_(operation), inputs_(inputs) {}

  std::unique_ptr<PreparedOperation> operator()(const Conv2d&) { return prepare_layer(operation_, inputs_); }
  std::unique_ptr<PreparedOperation> operator()(const Matmul&) { return prepare_layer(operation_, inputs_); }
  std::unique_ptr<PreparedOperation> operator()(const Linear&) { return prepare_layer(operation_, inputs_); }
  std::unique_ptr<PreparedOperation> operator()(const Copy&) { return prepare_copy(operation_, inputs_); }
  std::unique_ptr<PreparedOperation> operator()(const Elementwise&) { return layer(prepare_elementwise); }
  std::unique_ptr<PreparedOperation> operator()(const BatchNorm&) { return layer(prepare_batch_norm_loops); }
  std::unique_ptr<PreparedOperation> operator()(const Pool2d&) { return layer(prepare_pool_loops); }
  std::unique_ptr<PreparedOperation> operator()(const Softmax&) { return layer(prepare_softmax_loops); }
  std::unique_ptr<PreparedOperation> operator()(const LayerNorm&) { return layer(prepare_layer_norm_loops); }
  std::unique_ptr<PreparedOperation> operator()(const BiasAdd&) {
    return prepare_bias_add(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Convert&) {
    return prepare_convert(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Embedding&) {
    return prepare_embedding(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const OptimizerStep&) {
    return prepare_optimizer_step(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Attention& shape) {
    const bool fits = limited_product({shape.queries, shape.keys}) <= kLargestScores;
    const bool packed = shape.layout == HeadLayout::bhsd;
    return shape.dtype == DataType::f32 && packed && fits ? prepare_onednn_attention(operation_, inputs_)
                                                          : prepare_attention_loops(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Spin&) { return prepare_spin(operation_, inputs_); }
  std::unique_ptr<PreparedOperation> operator()(const Allocation&) {
    return prepare_allocation(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const CudaKernel&) {
    return prepare_carried_loops(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Chain& chain) {
    if (!chain.fused) throw std::logic_error("a chain is prepared before its parameters are visited");
    return prepare_onednn_fused(operation_, inputs_);
  }
  std::unique_ptr<PreparedOperation> operator()(const Aten&) {
    require_memory(operation_.bytes(), operation_.text());
    return torch::prepare_aten(operation_, inputs_.data(), {.device_type = "cpu"});
  }

 private:
  using Loops = std::unique_ptr<PreparedOperation> (*)(const Operation&, const InputTable&);

  std::unique_ptr<PreparedOperation> layer(Loops loops) {
    std::unique_ptr<PreparedOperation> primitive = prepare_onednn_layer(operation_, inputs_);
    return primitive ? std::move(primitive) : loops(operation_, inputs_);
  }

  const Operation& operation_;
  const InputTable& inputs_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs) {
  refuse_kernel(operation, "cpu");
  require_data_type(operation, "cpu", product_types(), further_types());
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) {
      require_data_type(step, "cpu", product_types(), further_types());
    }
  }
  require_memory(operand_memory(operation), operation.text());
  return std::visit(Preparer(operation, inputs), operation.parameters());
}

}  // namespace jitterscope::cpu
