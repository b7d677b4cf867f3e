// Runs other programs: to their end, beside this one, or as partners that answer line by line.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "jitterscope/units.hpp"

namespace jitterscope {

struct SubprocessOutcome {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< the signal that ended it; 0 if none did
  bool timed_out = false;
  std::string output, errors;
};

struct SubprocessLimits {
  std::function<bool()> interrupted = {};  ///< asked ten times a second
  /// An interrupted program writes what it has by then; this is the outcome, and nothing is thrown unless it
  /// had to be killed.
  bool answers_interruption = false;
  Nanoseconds grace = seconds(5);  ///< between SIGTERM and SIGKILL
  /// After this time it is ended, with timed_out set; empty: no limit.
  std::optional<Nanoseconds> time_limit = {};
  std::string input = {};                                      ///< content of its standard input
  std::function<void(std::string_view line)> error_line = {};  ///< called with each line of standard error
};

/// Returns the last line that is not empty: a program writes an error there that it could not hand over
/// otherwise.
std::string last_line(std::string_view text);

/// Runs arguments[0], a path, without a shell. Throws FailedError if it cannot be started, and
/// InterruptedError if interrupted. The program has ended when this returns or throws.
SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits);

// A program that runs beside this one, with both outputs read as they come.

/// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  void reset(int number);
  void close();

 private:
  int number_;
};

class ChildProcess {
 public:
  /// Starts arguments[0], a path, without a shell. Its standard input is `input`, or empty. Throws
  /// FailedError if it cannot be started.
  ChildProcess(const std::vector<std::string>& arguments, Descriptor input);
  /// Kills the program unless it was waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const;
  /// Reads for at most this long; returns false once the program has closed both outputs.
  bool read(std::string& output, std::string& errors, int milliseconds);
  /// Waits until it has ended and returns waitpid's status.
  int wait();
  /// Descriptors to wait for before read(); below zero: closed.
  std::array<int, 2> outputs() const { return {output_.read.number(), errors_.read.number()}; }

 private:
  // Closed on exec, except for the child's end.
  struct Pipe {
    Pipe();
    Descriptor read, write;
  };

  Pipe output_, errors_;
  pid_t pid_ = -1;
};

// A program that answers line by line while this one goes on.

/// Its standard input ends when this process ends, in whatever way.
class AnsweringProcess {
 public:
  /// Throws FailedError if it cannot be started.
  explicit AnsweringProcess(const std::vector<std::string>& arguments);
  /// Closes its standard input, and kills it if it does not end soon afterwards.
  ~AnsweringProcess();
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  /// Writes a line and returns the line of the answer, without its end. Throws FailedError if the program has
  /// ended (with its last words) or does not answer in time; InterruptedError if interrupted.
  std::string ask(std::string_view line, Nanoseconds time_limit, const std::function<bool()>& interrupted);
  /// The two halves of that, for several processes that work at the same time.
  void tell(std::string_view line);
  std::string hear(Nanoseconds time_limit, const std::function<bool()>& interrupted);
  /// Returns the next line, or nullopt if none comes within this time. Throws FailedError with its last words
  /// if the program has ended.
  std::optional<std::string> next(int milliseconds);
  /// All that it has written to its standard error so far.
  const std::string& errors() const { return errors_; }
  std::array<int, 2> outputs() const { return child_.outputs(); }

 private:
  AnsweringProcess(const std::vector<std::string>& arguments, std::array<Descriptor, 2> ends);
  void write(std::string_view text);

  Descriptor input_;  ///< our end of its standard input
  ChildProcess child_;
  std::string output_, errors_;
};

}  // namespace jitterscope
