#include "base/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "jitterscope/error.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants the program to declare it

namespace jitterscope {
namespace {

constexpr int kPollMilliseconds = 100;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// Closed on exec but for the end that the child is given.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw FailedError(std::string("no pipe to another process could be made: ") + std::strerror(errno));
    }
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  Descriptor read, write;
};

// In a file without a name, so that nobody waits for a program that does not read it.
void hold(Descriptor& file, std::string_view text) {
  file.reset(::memfd_create("standard input", MFD_CLOEXEC));
  while (!text.empty() && file.number() >= 0) {
    const ssize_t count = ::write(file.number(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) file.close();
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (file.number() >= 0 && ::lseek(file.number(), 0, SEEK_SET) == 0) return;
  throw FailedError(std::string("no memory for what another process is to read: ") + std::strerror(errno));
}

class Child {
 public:
  Child(const std::vector<std::string>& arguments, const std::string& input) {
    Descriptor given;
    if (!input.empty()) hold(given, input);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (given.number() >= 0) {
      posix_spawn_file_actions_adddup2(&actions, given.number(), STDIN_FILENO);
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
  ~Child() {
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { ::kill(pid_, number); }

  /// Reads for a moment; false once it has closed both of its streams.
  bool read(SubprocessOutcome& outcome) {
    std::array<pollfd, 2> streams = {
        {{output_.read.number(), POLLIN, 0}, {errors_.read.number(), POLLIN, 0}}};
    if (::poll(streams.data(), streams.size(), kPollMilliseconds) <= 0) return true;  // nothing, or a signal
    if (streams[0].revents != 0) take(output_.read, outcome.output);
    if (streams[1].revents != 0) take(errors_.read, outcome.errors);
    return output_.read.number() >= 0 || errors_.read.number() >= 0;
  }

  /// How it ended, as waitpid says it.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  static void take(Descriptor& stream, std::string& text) {
    std::array<char, 65536> part;
    const ssize_t count = ::read(stream.number(), part.data(), part.size());
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) stream.close();
  }

  Pipe output_, errors_;
  pid_t pid_ = -1;
};

}  // namespace

namespace {

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

SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto grace = std::chrono::duration<double>(to_seconds(limits.grace));
  const Clock::time_point start = Clock::now();
  const auto is_late = [&] {
    return limits.time_limit &&
           Clock::now() - start > std::chrono::duration<double>(to_seconds(*limits.time_limit));
  };
  Child child(arguments, limits.input);
  SubprocessOutcome outcome;
  LineListener lines(limits.error_line);
  std::optional<Clock::time_point> asked_to_end;
  bool interrupted = false;
  while (child.read(outcome)) {
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
      break;
    }
  }
  if (interrupted) throw InterruptedError();
  const int status = child.wait();
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (limits.interrupted && limits.interrupted()) throw InterruptedError();
  return outcome;
}

}  // namespace jitterscope
