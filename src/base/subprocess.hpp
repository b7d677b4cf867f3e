// Another program, run to its end: what it wrote, and how it ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

struct SubprocessOutcome {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< that ended it; 0 where none did
  std::string output, errors;
};

struct SubprocessLimits {
  std::function<bool()> interrupted;  ///< asked ten times a second
  Nanoseconds grace = seconds(5);     ///< between SIGTERM and SIGKILL
};

/// Runs arguments[0], a path, without a shell and with no standard input. Throws FailedError where it cannot
/// be started, InterruptedError when interrupted: the program is then gone, and so it is whatever is thrown.
SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits);

}  // namespace jitterscope
