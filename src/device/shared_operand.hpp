// Where an operand lies that shares the memory of another operation's, on every device.
#pragma once

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Whether `size` bytes fit where it says, and begin there as memory of their own would: libraries choose
/// their kernels by the alignment of operands.
bool lies_within_owner(const SharedOperand& shared, Bytes size);

/// What an operand of that size shares; null where it gets memory of its own.
const SharedOperand* find_shared(const InputData& data, std::size_t operand, Bytes size);

/// Whether the owner filled the memory, so that all who read it read the same: a weight, by both passes. What
/// an owner is still to write holds NaNs.
bool is_filled_by_owner(const SharedOperand& shared);

}  // namespace jitterscope
