// The one family of errors. Each kind maps to one exit code of the command line.
#pragma once

#include <stdexcept>
#include <string>

namespace jitterscope {

/// Exit codes of the command line tool.
enum class ExitCode : int {
  done = 0,
  check_failed = 1,  ///< a check that was asked for failed (--verify)
  usage = 2,         ///< what was asked cannot be understood or cannot exist
  missing = 3,       ///< a device or a library is not there
  imprecise = 4,     ///< measured, but not to the precision that was asked for, or never steady
  failed = 5,        ///< the operation failed while it ran
  interrupted = 130,
};

enum class ErrorKind { usage, missing, failed, interrupted };

/// One clear sentence: what is wrong, where, and what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }
  ExitCode exit_code() const {
    switch (kind_) {
      case ErrorKind::usage: return ExitCode::usage;
      case ErrorKind::missing: return ExitCode::missing;
      case ErrorKind::failed: return ExitCode::failed;
      case ErrorKind::interrupted: return ExitCode::interrupted;
    }
    return ExitCode::failed;
  }

 private:
  ErrorKind kind_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ErrorKind::usage, message) {}
};
struct MissingError : Error {
  explicit MissingError(const std::string& message) : Error(ErrorKind::missing, message) {}
};
struct FailedError : Error {
  explicit FailedError(const std::string& message) : Error(ErrorKind::failed, message) {}
};
/// A gate opened by itself: what was to be launched behind it did not fit the queue, or waited for the
/// device.
struct GateTimeoutError : FailedError {
  explicit GateTimeoutError(const std::string& message) : FailedError(message) {}
};
struct InterruptedError : Error {
  InterruptedError() : Error(ErrorKind::interrupted, "interrupted") {}
};

}  // namespace jitterscope
