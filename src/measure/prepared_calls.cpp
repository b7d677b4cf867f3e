#include "measure/prepared_calls.hpp"

#include <algorithm>

#include "device/shared_operand.hpp"
#include "operation/aten_text.hpp"
#include "operation/layer_aten.hpp"

namespace jitterscope {
namespace {

// Operands as calls count them. An operator of PyTorch tells only what it reads, and not what it writes.
struct Operands {
  bool is_aten = false;
  std::vector<Bytes> sizes = {};
  std::vector<OperandRole> roles = {};

  explicit Operands(const Operation& operation) {
    if (const auto* aten = std::get_if<Aten>(&operation.parameters())) {
      is_aten = true;
      sizes = tensor_sizes(*aten);
      roles.assign(sizes.size(), OperandRole::input);
    }
    for (const Operand& operand : operation.operands()) {
      sizes.push_back(operand.bytes());
      roles.push_back(operand.role);
    }
  }
  bool may_be(OperandRole role, std::size_t operand) const {
    if (operand < roles.size()) return roles[operand] == role;
    return !is_aten || role == OperandRole::output || operand == kUnknownOperand;
  }
};

CallSharing sharing_of(const Model& model, const Call& call, const PreparedCalls& prepared) {
  const Operands reader(model.layers[call.layer].operation);
  CallSharing sharing{{}, call.unwritten};
  for (const OperandSource& input : call.inputs) {
    const SharedOperand shared{input.operand, prepared[input.call].get(), input.source_operand, input.offset};
    if (shared.owner != nullptr && input.operand < reader.sizes.size() &&
        lies_within_owner(shared, reader.sizes[input.operand])) {
      sharing.shared.push_back(shared);
      continue;
    }
    const Operands writer(model.layers[model.calls[input.call].layer].operation);
    if (reader.may_be(OperandRole::input, input.operand) &&
        writer.may_be(OperandRole::output, input.source_operand)) {
      ++sharing.unwritten;
    }
  }
  // Where its operands are not known, an operator of PyTorch has memory of its own.
  if (reader.is_aten && sharing.shared.empty())
    sharing.unwritten = std::max<std::int64_t>(1, sharing.unwritten);
  return sharing;
}

}  // namespace

CallSharing prepare_call(Device& device, const Model& model, std::size_t number, const InputData& data,
                         PreparedCalls& prepared) {
  const Call& call = model.calls[number];
  prepared.push_back(nullptr);
  CallSharing sharing = sharing_of(model, call, prepared);
  InputData own = data;
  own.seed = data.seed + number;
  own.shared = sharing.shared;
  own.scaled_weights = true;
  prepared.back() = device.prepare(model.layers[call.layer].operation, own);
  return sharing;
}

}  // namespace jitterscope
