// The pages of docs/reference and the manual page, made of the command line's own description and of the
// program's tables.
#pragma once

#include <string_view>
#include <vector>

#include "cli/command_description.hpp"
#include "cli/document.hpp"

namespace jitterscope::cli {

struct ReferencePage {
  std::string_view name;  ///< of the file in docs/reference, without .md
  Document (*make)(const CommandDescription& tool);
};
const std::vector<ReferencePage>& reference_pages();

/// All that one needs beside a terminal, as jitterscope(1).
Document manual_document(const CommandDescription& tool);

}  // namespace jitterscope::cli
