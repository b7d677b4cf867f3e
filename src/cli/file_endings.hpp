// Names of files that a command writes.
#pragma once

#include "cli/commands.hpp"

namespace jitterscope::cli {

/// Every flag of every command that writes a file refuses a name whose ending says that it holds something
/// else, as --html x.pdf and --json x.csv.
void check_file_endings(CLI::App& app);

}  // namespace jitterscope::cli
