// The errors that jitterscope throws; each kind maps to one exit code of the command line.
#pragma once

#include <stdexcept>
#include <string>

namespace jitterscope {

/// Exit codes of the command line tool.
enum class ExitCode : int {
  done = 0,
  check_failed = 1,  ///< a requested check failed (--verify)
  usage = 2,         ///< the request cannot be understood or is impossible
  missing = 3,       ///< a device or a library is not available
  imprecise = 4,     ///< measured, but not to the requested precision, or never steady
  failed = 5,        ///< the operation failed while it ran
  interrupted = 130,
};

enum class ErrorKind { usage, missing, failed, interrupted };

/// An error whose message is one sentence: the problem, its place, and what to do about it.
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
/// A hold ended by itself: the launches queued behind it did not fit the queue, or one waited for the device.
struct HoldTimeoutError : FailedError {
  explicit HoldTimeoutError(const std::string& message) : FailedError(message) {}
};
struct InterruptedError : Error {
  InterruptedError() : Error(ErrorKind::interrupted, "interrupted") {}
};

}  // namespace jitterscope
