// The settings file: flags that hold where the command line does not give them.
//
//   [run]
//   precision = 1
//   cache = ["warm", "cold"]
#pragma once

#include "cli/invocation.hpp"

namespace jitterscope::cli {

/// Adds --settings, once all commands are there. A command line that was read is then completed from the file
/// of --settings, of $JITTERSCOPE_SETTINGS, .jitterscope.toml in the current folder, or
/// jitterscope/settings.toml in $XDG_CONFIG_HOME or ~/.config: the first of them. Throws UsageError that
/// names file, line and key.
void add_settings(CLI::App& app, Invocation& invocation);

}  // namespace jitterscope::cli
