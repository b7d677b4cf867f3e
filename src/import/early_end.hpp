// JSON of a program that was stopped while it wrote it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jitterscope/error.hpp"

namespace jitterscope {

/// The file ends in the middle of its JSON.
struct EarlyEnd : UsageError {
  EarlyEnd(const std::string& sentence, std::string closed_text)
      : UsageError(sentence), closed(std::move(closed_text)) {}
  std::string closed;  ///< as closed_json gives it
};

/// Where brackets are open at the end, or a string is: the text up to its last whole element, with what is
/// open closed: of a list of objects, alone or in a field of the outermost object, as traces are; empty where
/// there is no such element. Nothing where none is open, or one is closed that was not open: that is no JSON
/// at all.
std::optional<std::string> closed_json(std::string_view text);

/// Where a bracket is closed that is not the last one that was opened.
std::optional<std::size_t> wrong_bracket(std::string_view text);

}  // namespace jitterscope
