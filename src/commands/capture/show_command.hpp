// The subcommands of `capture` that read what was captured.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/invocation.hpp"

namespace jitterscope::cli {

/// Adds show, compare and export.
void add_capture_readers(CLI::App& capture, Invocation& invocation);

}  // namespace jitterscope::cli
