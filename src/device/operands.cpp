#include "device/operands.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope {
namespace {

// In the order of the operands; 0 for a bias, which is no matrix.
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

namespace {

// cuMemAlloc aligns to 256 bytes, and a CPU's cache line divides it.
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

double draw_value(DataKind kind, Random& random) {
  switch (kind) {
    case DataKind::normal: return random.normal();
    case DataKind::uniform: return random.uniform(-1.0, 1.0);
    case DataKind::zeros: return 0.0;
    case DataKind::ones: return 1.0;
    case DataKind::sparse: return random.next() % 2 == 0 ? 0.0 : random.normal();
  }
  return 0.0;
}

double scale_of(const Operand& operand, const InputData& data) {
  if (!data.scaled_weights || operand.fan_in == 0 || data.kind == DataKind::ones) return 1.0;
  return std::sqrt(2.0 / static_cast<double>(operand.fan_in));
}

}  // namespace jitterscope
