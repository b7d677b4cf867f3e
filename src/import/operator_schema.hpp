// Names of an operator's arguments and its overload: from the schema where a record has it, else known here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/recorded_operator.hpp"

namespace jitterscope {

struct OperatorSchema {
  std::string overload;
  std::vector<std::string> argument_names;
  std::vector<bool> has_default;  ///< as many
};

/// Reads `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`. Of any other text, what
/// can be read.
OperatorSchema parse_schema(std::string_view text);

/// Of the operators that are converted natively; empty for others.
std::vector<std::string> known_argument_names(std::string_view name);

/// Which overload takes arguments of these kinds. Empty where the operator has no overloads, as far as known.
std::string known_overload(const RecordedOperator& recorded);

}  // namespace jitterscope
