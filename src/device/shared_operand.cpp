#include "device/shared_operand.hpp"

namespace jitterscope {
namespace {

// cuMemAlloc aligns to it, and a line of a CPU's cache divides it.
constexpr std::int64_t kAlignment = 256;

}  // namespace

std::optional<MemoryRegion> owned_memory(const SharedOperand& shared) {
  const auto* operands = dynamic_cast<const OperandMemory*>(shared.owner);
  const std::vector<MemoryRegion> memory =
      operands != nullptr ? operands->operand_memory() : shared.owner->memory();
  if (shared.owner_operand >= memory.size() || memory[shared.owner_operand].address == nullptr)
    return std::nullopt;
  return memory[shared.owner_operand];
}

bool lies_within_owner(const SharedOperand& shared, Bytes size) {
  const std::vector<Operand> operands = shared.owner->operation().operands();
  Bytes owned(-1);
  if (shared.owner_operand < operands.size()) {
    owned = operands[shared.owner_operand].bytes();
  } else if (dynamic_cast<const OperandMemory*>(shared.owner) != nullptr) {
    if (const auto memory = owned_memory(shared)) owned = memory->size;
  }
  const std::int64_t offset = shared.offset.value(), end = owned.value();
  return offset >= 0 && offset % kAlignment == 0 && offset <= end && size.value() <= end - offset;
}

const SharedOperand* find_shared(const InputData& data, std::size_t operand, Bytes size) {
  for (const SharedOperand& shared : data.shared) {
    if (shared.operand == operand && lies_within_owner(shared, size)) return &shared;
  }
  return nullptr;
}

bool is_filled_by_owner(const SharedOperand& shared) {
  if (const auto* operands = dynamic_cast<const OperandMemory*>(shared.owner))
    return shared.owner_operand < operands->input_count();
  return shared.owner->operation().operands()[shared.owner_operand].role == OperandRole::input;
}

}  // namespace jitterscope
