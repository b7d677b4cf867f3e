// Splits the text of operations into kind, subject and parameters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "operation/kinds.hpp"

namespace jitterscope {

struct ParameterValues {
  std::string name;
  std::vector<std::string> values;  ///< as written; more than one for a list; ranges are not expanded
};
struct OperationText {
  const kinds::Kind* kind = nullptr;
  std::string subject = {};  ///< text before the parameters: cuda's FILE.cu:KERNEL, or a chain's steps
  std::vector<ParameterValues> parameters;
};

/// Returns a hint for an unknown kind: the nearest one, its parameters and an example, or else all kinds.
std::string kind_hint(std::string_view word);

/// Splits `KIND:name=value,name=value`, `cuda:FILE.cu:KERNEL,name=value` or `chain:[STEP][STEP],name=value`;
/// a piece without `=` continues the value list before it. Throws UsageError for an unknown kind or a missing
/// name.
OperationText split_operation(std::string_view text);

bool is_range(std::string_view value);

/// Makes the operation with these values instead of the text's.
Operation make_operation(const OperationText& text, std::vector<NamedValue> values);

/// Reads numbers of bytes as the value of a parameter: lists and ranges, `1Ki,1Mi..1Gi*1024`. Throws
/// UsageError, which begins with `what`.
std::vector<std::int64_t> read_byte_counts(const std::string& what, std::string_view text);

// Ends of pieces in an operation's text.

/// Returns the end of the subject (FILE.cu:KERNEL, or a chain's steps) in the text after `KIND:`; 0 if there
/// is none.
std::size_t subject_end(std::string_view kind, std::string_view text);
/// Returns the end of the text's first parameter: a comma, or the end of the text.
std::size_t parameter_end(std::string_view kind, std::string_view text);

}  // namespace jitterscope
