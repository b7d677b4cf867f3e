#include "device/operand_rows.hpp"

#include <algorithm>

namespace jitterscope {
namespace {

// In the order of the operands; a bias is no matrix.
std::vector<std::int64_t> row_lengths(const Operation& operation) {
  std::vector<std::int64_t> lengths;
  bool has_bias = false;
  if (const auto* matmul = std::get_if<Matmul>(&operation.parameters())) {
    lengths = {matmul->transpose_a ? matmul->m : matmul->k, matmul->transpose_b ? matmul->k : matmul->n,
               matmul->n};
    has_bias = matmul->bias;
  } else if (const auto* linear = std::get_if<Linear>(&operation.parameters())) {
    lengths = {linear->in, linear->in, linear->out};
    has_bias = linear->bias;
  }
  if (has_bias) lengths.insert(lengths.begin() + 2, 0);
  return lengths;
}

}  // namespace

std::vector<OperandRows> operand_rows(const Operation& operation, const RowStride& stride) {
  const std::vector<Operand> operands = operation.operands();
  const std::vector<std::int64_t> lengths = row_lengths(operation);
  std::vector<OperandRows> rows(operands.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > 0) rows[i] = {lengths[i], operands[i].count / lengths[i], stride.of(lengths[i])};
  }
  return rows;
}

bool has_matrices(const Operation& operation) { return !row_lengths(operation).empty(); }

Bytes bytes_with_rows(const Operand& operand, const OperandRows& rows) {
  if (rows.are_packed()) return operand.bytes();
  return Bytes(rows.count * rows.stride * element_size(operand.dtype).value());
}

Bytes bytes_between_rows(const Operation& operation, const RowStride& stride) {
  const std::vector<Operand> operands = operation.operands();
  const std::vector<OperandRows> rows = operand_rows(operation, stride);
  Bytes between;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    between += bytes_with_rows(operands[i], rows[i]) - operands[i].bytes();
  }
  return between;
}

}  // namespace jitterscope
