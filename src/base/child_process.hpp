// A program that runs beside this one, its two outputs read as they come.
#pragma once

#include <sys/types.h>
#include <string>
#include <utility>
#include <vector>

namespace jitterscope {

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

}  // namespace jitterscope
