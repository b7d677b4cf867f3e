// Another program, run to its end: what it wrote, and how it ended.
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

// A program that runs beside this one, its two outputs read as they come.

/// Closes what it holds.
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
  /// Starts arguments[0], a path, without a shell. It reads from `input`, or nothing. Throws FailedError
  /// where it cannot be started.
  ChildProcess(const std::vector<std::string>& arguments, Descriptor input);
  /// Kills it unless it was waited for: it is gone then.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const;
  /// Reads for at most so long; false once it has closed both of its streams.
  bool read(std::string& output, std::string& errors, int milliseconds);
  /// Until it has ended: how, as waitpid says it.
  int wait();

 private:
  // Closed on exec but for the end that the child is given.
  struct Pipe {
    Pipe();
    Descriptor read, write;
  };

  Pipe output_, errors_;
  pid_t pid_ = -1;
};

// Another program that answers line by line while this one goes on.

/// Its standard input ends when this process does, however that comes about.
class AnsweringProcess {
 public:
  /// Throws FailedError where it cannot be started.
  explicit AnsweringProcess(const std::vector<std::string>& arguments);
  /// Closes its standard input, and kills it where it has not ended soon after: it is gone then.
  ~AnsweringProcess();
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;

  /// Writes a line, and waits for the line that it answers, which is returned without its end. Throws
  /// FailedError where it has ended, with its last words, or does not answer within the time,
  /// InterruptedError.
  std::string ask(std::string_view line, Nanoseconds time_limit, const std::function<bool()>& interrupted);
  /// The two halves of that, for several processes that work at the same time.
  void tell(std::string_view line);
  std::string hear(Nanoseconds time_limit, const std::function<bool()>& interrupted);

 private:
  AnsweringProcess(const std::vector<std::string>& arguments, std::array<Descriptor, 2> ends);
  void write(std::string_view text);

  Descriptor input_;  ///< our end of it
  ChildProcess child_;
  std::string output_, errors_;
};

}  // namespace jitterscope
