// The values that a flag or an argument takes.
#pragma once

#include <string>

#include "cli/completion.hpp"

namespace jitterscope::cli {

/// All values, files included where they are meant. `current`: what is typed of the value; `before`: what is
/// typed of the word before the value, as `--cache=`, and leads each completion.
Completions complete_value(const CommandDescription& command, const OptionDescription& option,
                           const std::string& current, const std::string& before);

}  // namespace jitterscope::cli
