#include "operation/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope {

void check_range(std::string_view kind, std::string_view name, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw UsageError(fmt::format("{}: {}={} is impossible: {} must be from {} to {}", kind, name, value, name,
                               lowest, highest));
}

void check_pass(std::string_view kind, Pass pass) {
  if (pass != Pass::inference) return;
  throw UsageError(fmt::format("{}: pass=inference is the same as pass=forward here; write forward", kind));
}

void check_computes_in(std::string_view kind, std::string_view name, DataType dtype) {
  if (!holds_indices(dtype)) return;
  throw UsageError(fmt::format(
      "{0}: {1}={2} is impossible: {2} holds indices, no operation computes in it; give a type such as f32",
      kind, name, to_string(dtype)));
}

std::int64_t limited_product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 50;
  if (std::find(factors.begin(), factors.end(), 0) != factors.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > kLimit / product) return kLimit;
    product *= factor;
  }
  return product;
}

void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands) {
  std::int64_t total = 0;
  for (const Operand& operand : operands) {
    total += operand.bytes().value();
    if (total > kLargestOperandBytes) {
      throw UsageError(fmt::format("{}: the operands up to {} take more than 64 TiB; make the shape smaller",
                                   kind, operand.name));
    }
  }
}

}  // namespace jitterscope
