// Operands that are matrices, and how their rows lie in memory when something lies between them.
#pragma once

#include <vector>

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

}  // namespace jitterscope
