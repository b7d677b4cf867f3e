#include "device/cpu/operations/prepare.hpp"

#include <fmt/format.h>

#include "device/torch/torch_operation.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

std::unique_ptr<PreparedOperation> prepare_layer(const Operation& operation, const InputTable& inputs) {
  switch (operation.dtype()) {
    case DataType::f64: return prepare_double(operation, inputs);
    case DataType::f32:
    case DataType::bf16: return prepare_onednn(operation, inputs);
    case DataType::tf32:
    case DataType::f16: break;
  }
  throw UsageError(
      fmt::format("the cpu has no {} for {}: try dtype=f32", to_string(operation.dtype()), operation.kind()));
}

struct Preparer {
  const Operation& operation;
  const InputTable& inputs;

  std::unique_ptr<PreparedOperation> operator()(const Conv2d&) { return prepare_layer(operation, inputs); }
  std::unique_ptr<PreparedOperation> operator()(const Matmul&) { return prepare_layer(operation, inputs); }
  std::unique_ptr<PreparedOperation> operator()(const Linear&) { return prepare_layer(operation, inputs); }
  std::unique_ptr<PreparedOperation> operator()(const Copy&) { return prepare_copy(operation, inputs); }
  std::unique_ptr<PreparedOperation> operator()(const Elementwise&) {
    return prepare_elementwise(operation, inputs);
  }
  std::unique_ptr<PreparedOperation> operator()(const Spin&) { return prepare_spin(operation, inputs); }
  std::unique_ptr<PreparedOperation> operator()(const Aten&) {
    require_memory(operation.bytes(), operation.text());
    return torch::prepare_aten(operation, inputs.data(), {.device_type = "cpu"});
  }
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs) {
  require_memory(operand_memory(operation), operation.text());
  return std::visit(Preparer{operation, inputs}, operation.parameters());
}

}  // namespace jitterscope::cpu
