// The text of operations, taken apart but not yet understood.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operation/kinds.hpp"

namespace jitterscope {

struct ParameterValues {
  std::string name;
  std::vector<std::string> values;  ///< as written; more than one for a list, and ranges not expanded
};
struct OperationText {
  const kinds::Kind* kind = nullptr;
  std::string subject = {};  ///< before the parameters: FILE.cu:KERNEL of cuda, the steps of a chain
  std::vector<ParameterValues> parameters;
};

/// For a word that is no kind: the nearest one, its parameters and an example, or all kinds.
std::string kind_hint(std::string_view word);

/// `KIND:name=value,name=value`, `cuda:FILE.cu:KERNEL,name=value` or `chain:[STEP][STEP],name=value`; a piece
/// without `=` continues the list of values before it. Throws UsageError for an unknown kind, or where there
/// is no name.
OperationText split_operation(std::string_view text);

bool is_range(std::string_view value);

/// With these values in place of those of the text.
Operation make_operation(const OperationText& text, std::vector<NamedValue> values);

}  // namespace jitterscope
