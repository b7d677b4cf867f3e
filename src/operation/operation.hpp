// Memory traffic and size of an operation's operands, and its engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Returns the least traffic of each operand with the device's memory, in the order of operands(): each is
/// read or written once. Not counted: the host side of a copy, table rows that no index names, positions that
/// a strided filter skips, and data passed within a fused chain's launch. A kernel's inout counts twice.
/// Links between ranks are not counted.
std::vector<Bytes> operand_traffic(const Operation&);

/// Returns the size of all operands, including parts that do not move.
Bytes operand_memory(const Operation&);

/// Returns a matmul as it is, and a linear layer as a product with transposed weights, whose operands come in
/// the same order.
Matmul as_matmul(const Operation&);

// Engines by name.

/// Returns the operation with this engine; an operation that has no engines stays as it is.
Operation with_engine(const Operation& operation, const std::string& engine);
/// Returns "" if the operation names none.
std::string engine_of(const Operation& operation);

/// Returns what the tags of cuDNN's engines begin with.
constexpr std::string_view engine_prefix(Direction direction) {
  switch (direction) {
    case Direction::fprop: return "ConvFwd";
    case Direction::dgrad: return "ConvBwdData";
    case Direction::wgrad: break;
  }
  return "ConvBwdFilter";
}

// Engines of cuBLASLt from its log.

/// Turns cuBLASLt's log of an algorithm, `algoId=55 tile=MATMUL_TILE_64x128 numSplitsK=4 …` (the text within
/// algo=[…]), into an engine's tag: algo55_tile=64x128_splitk=4. Words that leave a choice to cuBLASLt (AUTO,
/// 0, one split) are left out. Reduction schemes are numbers, because their names contain `_`, which
/// separates a tag's parts. Returns "" without an algoId. Nothing else is checked.
std::string cublaslt_tag(std::string_view algorithm);

}  // namespace jitterscope
