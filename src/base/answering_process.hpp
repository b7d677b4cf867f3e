// Another program that answers line by line while this one goes on.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_process.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

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

 private:
  AnsweringProcess(const std::vector<std::string>& arguments, std::array<Descriptor, 2> ends);
  void write(std::string_view text);

  Descriptor input_;  ///< our end of it
  ChildProcess child_;
  std::string output_, errors_;
};

}  // namespace jitterscope
