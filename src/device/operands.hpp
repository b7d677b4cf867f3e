// Operands that are matrices, and how their rows lie in memory when something lies between them.
#pragma once

#include <optional>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

/// The rows of one operand as it is stored, in elements. A batch is one matrix below the other.
struct OperandRows {
  std::int64_t length = 0;  ///< 0: it is no matrix, and is always packed
  std::int64_t count = 0;
  std::int64_t stride = 0;  ///< from the beginning of a row to that of the next

  bool are_packed() const { return stride == length; }
};

/// Whether what computes finds the rows of matrices that do not follow each other at once.
enum class RowsApart { never, as_asked };

/// For each of operation.operands(): those of products of matrices have rows.
std::vector<OperandRows> operand_rows(const Operation& operation, const RowStride& stride);

bool has_matrices(const Operation& operation);

/// What an operand takes with its rows apart.
Bytes bytes_with_rows(const Operand& operand, const OperandRows& rows);
/// What all operands take beyond what they take packed.
Bytes bytes_between_rows(const Operation& operation, const RowStride& stride);

// Where an operand lies that shares the memory of another operation's, on every device.

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

// What an operand's elements hold, on every device that draws them on the host.

/// One element, not yet rounded to its data type.
double draw_value(DataKind kind, Random& random);

/// What each value drawn for an operand is multiplied with: sqrt(2 / fan_in) for a weight where weights are
/// scaled. A sum over fan_in products of an activation behind a ReLU, whose mean square is half that before
/// it, then is as large as what went in (He et al., 2015, arXiv 1502.01852).
double scale_of(const Operand& operand, const InputData& data);

}  // namespace jitterscope
