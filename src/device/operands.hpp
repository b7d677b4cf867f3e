// Operands on every device: rows of matrices, shared memory, and values drawn.
#pragma once

#include <optional>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

/// The rows of one operand as it is stored, in elements; those of a batch's matrices follow each other.
struct OperandRows {
  std::int64_t length = 0;  ///< 0: no matrix, always packed
  std::int64_t count = 0;
  std::int64_t stride = 0;  ///< from one row's beginning to the next one's

  bool are_packed() const { return stride == length; }
};

/// Tells whether an implementation can read matrices whose rows have padding between them.
enum class RowsApart { never, as_asked };

/// One entry for each of operation.operands(); only those of matrix products have rows.
std::vector<OperandRows> operand_rows(const Operation& operation, const RowStride& stride);

bool has_matrices(const Operation& operation);

/// Size of an operand, padding included.
Bytes bytes_with_rows(const Operand& operand, const OperandRows& rows);
/// Size of the padding of all operands.
Bytes bytes_between_rows(const Operation& operation, const RowStride& stride);

// Memory that an operand shares with another operation.

/// An operation whose operands are not in operation().operands() (a PyTorch operator's).
class OperandMemory {
 public:
  virtual ~OperandMemory() = default;
  /// The inputs and then the outputs, as a model counts them. A null address: it cannot be shared.
  virtual std::vector<MemoryRegion> operand_memory() const = 0;
  virtual std::size_t input_count() const = 0;
};

/// Returns where the owner's operand lies; nullopt if that is unknown.
std::optional<MemoryRegion> owned_memory(const SharedOperand& shared);

/// True if `size` bytes fit at the given place, and begin there as aligned as memory of their own: libraries
/// choose their kernels by the alignment of operands.
bool lies_within_owner(const SharedOperand& shared, Bytes size);

/// Returns the memory shared by an operand of this size; nullptr if it gets its own.
const SharedOperand* find_shared(const InputData& data, std::size_t operand, Bytes size);

/// True if the owner filled the memory, so that all readers see the same: a weight, in both passes. Memory
/// that the owner has still to write holds NaNs.
bool is_filled_by_owner(const SharedOperand& shared);

// The values of operands, for every device that draws them on the host.

/// Draws one element, not yet rounded to its data type.
double draw_value(DataKind kind, Random& random);

/// Factor for each value drawn for an operand: sqrt(2 / fan_in) for a weight if weights are scaled. A sum of
/// fan_in products of an activation behind a ReLU, whose mean square is half that before it, then is as large
/// as the layer's input (He et al., 2015, arXiv 1502.01852).
double scale_of(const Operand& operand, const InputData& data);

}  // namespace jitterscope
