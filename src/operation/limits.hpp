// How large an operation may be, so that no later arithmetic on its shape can overflow.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Libraries take dimensions as 32-bit numbers.
inline constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
/// Of bytes and count.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;
/// 64 TiB: beyond any device's memory.
inline constexpr std::int64_t kLargestOperandBytes = std::int64_t{1} << 46;

/// Throws UsageError "conv2d: n=0 is impossible: …" where value is outside.
void check_range(std::string_view kind, std::string_view name, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest);

/// Throws UsageError for pass=inference of a kind that computes then what it does in forward.
void check_pass(std::string_view kind, Pass pass);

/// Throws UsageError for a data type that holds indices.
void check_computes_in(std::string_view kind, std::string_view name, DataType dtype);

/// The product of numbers that are not negative; past 2^50 it stays there, which is too large for an
/// operand and leaves room to sum and to multiply by the element size.
std::int64_t limited_product(std::initializer_list<std::int64_t> factors);

/// Throws UsageError where the operands together pass kLargestOperandBytes.
void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands);

}  // namespace jitterscope
