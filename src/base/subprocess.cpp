#include "base/subprocess.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/child_process.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr int kPollMilliseconds = 100;

// In a file without a name, so that nobody waits for a program that does not read it.
Descriptor held(std::string_view text) {
  Descriptor file(::memfd_create("standard input", MFD_CLOEXEC));
  while (!text.empty() && file.number() >= 0) {
    const ssize_t count = ::write(file.number(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) file.close();
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (file.number() >= 0 && ::lseek(file.number(), 0, SEEK_SET) == 0) return file;
  throw FailedError(std::string("no memory for what another process is to read: ") + std::strerror(errno));
}

// Hands over the lines that are whole, each once.
class LineListener {
 public:
  explicit LineListener(const std::function<void(std::string_view)>& listener) : listener_(listener) {}

  void look_at(std::string_view text) {
    if (!listener_) return;
    for (std::size_t end = text.find('\n', told_); end != std::string_view::npos;
         end = text.find('\n', told_)) {
      listener_(text.substr(told_, end - told_));
      told_ = end + 1;
    }
  }

 private:
  const std::function<void(std::string_view)>& listener_;
  std::size_t told_ = 0;
};

}  // namespace

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto grace = std::chrono::duration<double>(to_seconds(limits.grace));
  const Clock::time_point start = Clock::now();
  const auto is_late = [&] {
    return limits.time_limit &&
           Clock::now() - start > std::chrono::duration<double>(to_seconds(*limits.time_limit));
  };
  ChildProcess child(arguments, limits.input.empty() ? Descriptor() : held(limits.input));
  SubprocessOutcome outcome;
  LineListener lines(limits.error_line);
  std::optional<Clock::time_point> asked_to_end;
  bool interrupted = false;
  while (child.read(outcome.output, outcome.errors, kPollMilliseconds)) {
    lines.look_at(outcome.errors);
    if (!asked_to_end) {
      interrupted = limits.interrupted && limits.interrupted();
      outcome.timed_out = !interrupted && is_late();
      if (interrupted || outcome.timed_out) {
        child.signal(SIGTERM);
        asked_to_end = Clock::now();
      }
    }
    if (asked_to_end && Clock::now() - *asked_to_end > grace) {
      child.signal(SIGKILL);
      if (interrupted) throw InterruptedError();
      break;
    }
  }
  if (interrupted && !limits.answers_interruption) throw InterruptedError();
  const int status = child.wait();
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (!limits.answers_interruption && limits.interrupted && limits.interrupted()) throw InterruptedError();
  return outcome;
}

}  // namespace jitterscope
