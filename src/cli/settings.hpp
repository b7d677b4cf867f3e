// Reads the settings file: flags that apply unless the command line gives them.
//
//   [run]
//   precision = 1
//   cache = ["warm", "cold"]
#pragma once

#include "cli/invocation.hpp"

namespace jitterscope::cli {

/// Adds --settings; call it after all commands are added. Completes a parsed command line from the first of
/// these files: that of --settings, of $JITTERSCOPE_SETTINGS, .jitterscope.toml in the current folder,
/// jitterscope/settings.toml in $XDG_CONFIG_HOME or ~/.config. Throws UsageError with file, line and key.
void add_settings(CLI::App& app, Invocation& invocation);

}  // namespace jitterscope::cli
