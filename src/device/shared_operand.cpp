#include "device/shared_operand.hpp"

namespace jitterscope {
namespace {

// cuMemAlloc aligns to it, and a line of a CPU's cache divides it.
constexpr std::int64_t kAlignment = 256;

}  // namespace

bool lies_within_owner(const SharedOperand& shared, Bytes size) {
  const std::vector<Operand> operands = shared.owner->operation().operands();
  // An operator of PyTorch does not tell its operands.
  if (shared.owner_operand >= operands.size()) return false;
  const std::int64_t offset = shared.offset.value();
  const std::int64_t end = operands[shared.owner_operand].bytes().value();
  return offset >= 0 && offset % kAlignment == 0 && offset <= end && size.value() <= end - offset;
}

const SharedOperand* find_shared(const InputData& data, std::size_t operand, Bytes size) {
  for (const SharedOperand& shared : data.shared) {
    if (shared.operand == operand && lies_within_owner(shared, size)) return &shared;
  }
  return nullptr;
}

bool is_filled_by_owner(const SharedOperand& shared) {
  return shared.owner->operation().operands()[shared.owner_operand].role == OperandRole::input;
}

}  // namespace jitterscope
