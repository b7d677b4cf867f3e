// The text of operations, taken apart but not yet understood.
#pragma once

#include <cstddef>
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

// Where the pieces of an operation's text end.

/// What is behind `KIND:` begins with that which is no parameter: FILE.cu:KERNEL, or a chain's steps. Where
/// it ends; 0 where there is none.
std::size_t subject_end(std::string_view kind, std::string_view text);
/// Where the parameter ends that the text begins with: at a comma, or with the text.
std::size_t parameter_end(std::string_view kind, std::string_view text);

}  // namespace jitterscope
