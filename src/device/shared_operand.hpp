// Where an operand lies that shares the memory of another operation's, on every device.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// An operation that does not tell its operands, as an operator of PyTorch, and knows where they are.
class OperandMemory {
 public:
  virtual ~OperandMemory() = default;
  /// What it reads, and then what it writes, as a model counts them; no address where none can be shared.
  virtual std::vector<MemoryRegion> operand_memory() const = 0;
  virtual std::size_t input_count() const = 0;
};

/// Where the owner's operand lies; nothing where that is not known.
std::optional<MemoryRegion> owned_memory(const SharedOperand& shared);

/// Whether `size` bytes fit where it says, and begin there as memory of their own would: libraries choose
/// their kernels by the alignment of operands.
bool lies_within_owner(const SharedOperand& shared, Bytes size);

/// What an operand of that size shares; null where it gets memory of its own.
const SharedOperand* find_shared(const InputData& data, std::size_t operand, Bytes size);

/// Whether the owner filled the memory, so that all who read it read the same: a weight, by both passes. What
/// an owner is still to write holds NaNs.
bool is_filled_by_owner(const SharedOperand& shared);

}  // namespace jitterscope
