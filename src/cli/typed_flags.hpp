// Flags that were typed where they say nothing.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace jitterscope::cli {

/// Throws UsageError for a flag that was typed and is none of `taken`, as --json, with `why`. What settings
/// give is for other calls, and passed over.
void refuse_typed_flags(const CLI::App& command, const Invocation& invocation,
                        const std::vector<std::string>& taken, const std::string& why);

}  // namespace jitterscope::cli
