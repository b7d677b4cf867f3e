// JSON of a program that was stopped while it wrote it.
#pragma once

#include <string>
#include <string_view>

#include "jitterscope/error.hpp"

namespace jitterscope {

/// The file ends in the middle of its JSON.
struct EarlyEnd : UsageError {
  using UsageError::UsageError;
};

/// Whether brackets are open at the end, or a string is. Not where one is closed that was not open: that is
/// no JSON at all.
bool ends_open(std::string_view text);

/// The text up to its last whole element, with what is open closed: of a list of objects, alone or in a field
/// of the outermost object, as traces are. Empty where there is no such element.
std::string closed_json(std::string_view text);

}  // namespace jitterscope
