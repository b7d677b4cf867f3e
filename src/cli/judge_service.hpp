// `jitterscope judge --serve`: verdicts by request, with processes that are ready before anybody asks.
#pragma once

#include "cli/judge_setup.hpp"

namespace jitterscope::cli {

/// Serves the socket until it is interrupted, which is its ordinary end. Throws UsageError if there can be no
/// socket, and FailedError if the reference fails.
void serve_judge(const JudgeFlags& flags, JudgeSetup& setup);

}  // namespace jitterscope::cli
