// Another program, run to its end: what it wrote, and how it ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

struct SubprocessOutcome {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< that ended it; 0 where none did
  bool timed_out = false;
  std::string output, errors;
};

struct SubprocessLimits {
  std::function<bool()> interrupted = {};  ///< asked ten times a second
  /// An interrupted program writes what it has by then: that is the outcome, and nothing is thrown unless it
  /// had to be killed.
  bool answers_interruption = false;
  Nanoseconds grace = seconds(5);  ///< between SIGTERM and SIGKILL
  /// After so long it is ended, and timed_out says so; nothing: it may run for ever.
  std::optional<Nanoseconds> time_limit = {};
  std::string input = {};                                      ///< what its standard input holds
  std::function<void(std::string_view line)> error_line = {};  ///< told of each line of standard error
};

/// The last words of what a program wrote: its last line that is not empty; an error that it could not hand
/// over stands there.
std::string last_line(std::string_view text);

/// Runs arguments[0], a path, without a shell. Throws FailedError where it cannot be started,
/// InterruptedError when interrupted: the program is then gone, and so it is whatever is thrown.
SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits);

}  // namespace jitterscope
