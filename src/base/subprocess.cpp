#include "base/subprocess.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr int kPollMilliseconds = 100;

// Puts text into a file without a name, so that nobody waits for a program that does not read it.
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

// Passes each complete line to the listener once.
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

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants the program to declare it

namespace jitterscope {
void Descriptor::reset(int number) {
  close();
  number_ = number;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

ChildProcess::Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw FailedError(std::string("no pipe to another process could be made: ") + std::strerror(errno));
  }
  read.reset(ends[0]);
  write.reset(ends[1]);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): closed here once the child has it
ChildProcess::ChildProcess(const std::vector<std::string>& arguments, Descriptor input) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input.number() >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input.number(), STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output_.write.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_.write.number(), STDERR_FILENO);
  const int problem = ::posix_spawn(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) {
    pid_ = -1;
    throw FailedError("'" + arguments[0] + "' could not be started: " + std::strerror(problem));
  }
  output_.write.close();
  errors_.write.close();
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::signal(int number) const { ::kill(pid_, number); }

bool ChildProcess::read(std::string& output, std::string& errors, int milliseconds) {
  if (output_.read.number() < 0 && errors_.read.number() < 0) return false;
  std::array<pollfd, 2> streams = {{{output_.read.number(), POLLIN, 0}, {errors_.read.number(), POLLIN, 0}}};
  if (::poll(streams.data(), streams.size(), milliseconds) <= 0) return true;  // nothing yet, or a signal
  if (streams[0].revents != 0 && !read_part(output_.read.number(), output)) output_.read.close();
  if (streams[1].revents != 0 && !read_part(errors_.read.number(), errors)) errors_.read.close();
  return output_.read.number() >= 0 || errors_.read.number() >= 0;
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

namespace {

// Short, because the caller is in the middle of a measurement.
constexpr int kAnswerPollMilliseconds = 20;

std::array<Descriptor, 2> connected() {
  std::array<int, 2> ends{};
  // Not a pipe: writing to one whose reader has ended raises a signal; here it is only an error.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw FailedError(std::string("no way to another process could be made: ") + std::strerror(errno));
  }
  // A program that is stopped reads nothing: whoever writes to it must not stop with it.
  constexpr timeval kWriteLimit = {.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &kWriteLimit, sizeof kWriteLimit);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

AnsweringProcess::AnsweringProcess(const std::vector<std::string>& arguments)
    : AnsweringProcess(arguments, connected()) {}

AnsweringProcess::AnsweringProcess(const std::vector<std::string>& arguments, std::array<Descriptor, 2> ends)
    : input_(std::move(ends[0])), child_(arguments, std::move(ends[1])) {}

AnsweringProcess::~AnsweringProcess() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kGrace(2);
  input_.close();
  const Clock::time_point end = Clock::now() + kGrace;
  while (Clock::now() < end && child_.read(output_, errors_, kAnswerPollMilliseconds)) {
  }
}

void AnsweringProcess::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(input_.number(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // it has ended or is stopped; reading will show which
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string AnsweringProcess::ask(std::string_view line, Nanoseconds time_limit,
                                  const std::function<bool()>& interrupted) {
  tell(line);
  return hear(time_limit, interrupted);
}

void AnsweringProcess::tell(std::string_view line) { write(std::string(line) + '\n'); }

std::string AnsweringProcess::hear(Nanoseconds time_limit, const std::function<bool()>& interrupted) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(to_seconds(time_limit));
  while (true) {
    if (std::optional<std::string> line = next(kAnswerPollMilliseconds)) return *std::move(line);
    if (interrupted && interrupted()) throw InterruptedError();
    if (Clock::now() > end) {
      throw FailedError(fmt::format("another process has not answered for {}", duration_text(time_limit)));
    }
  }
}

std::optional<std::string> AnsweringProcess::next(int milliseconds) {
  const auto line = [&]() -> std::optional<std::string> {
    const std::size_t length = output_.find('\n');
    if (length == std::string::npos) return std::nullopt;
    std::string found = output_.substr(0, length);
    output_.erase(0, length + 1);
    return found;
  };
  if (auto found = line()) return found;
  const bool goes_on = child_.read(output_, errors_, milliseconds);
  if (auto found = line()) return found;
  if (goes_on) return std::nullopt;
  const std::string words = last_line(errors_);
  throw FailedError("another process has ended" + (words.empty() ? "" : ": " + words));
}

}  // namespace jitterscope
