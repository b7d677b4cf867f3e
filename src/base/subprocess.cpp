#include "base/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
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

class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
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

SubprocessOutcome run_subprocess(const std::vector<std::string>& arguments, const SubprocessLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto grace = std::chrono::duration<double>(to_seconds(limits.grace));
  Child child(arguments);
  SubprocessOutcome outcome;
  std::optional<Clock::time_point> asked_to_end;
  while (child.read(outcome)) {
    if (!asked_to_end && limits.interrupted && limits.interrupted()) {
      child.signal(SIGTERM);
      asked_to_end = Clock::now();
    }
    if (asked_to_end && Clock::now() - *asked_to_end > grace) break;  // the destructor's SIGKILL ends it
  }
  if (asked_to_end) throw InterruptedError();
  const int status = child.wait();
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (limits.interrupted && limits.interrupted()) throw InterruptedError();
  return outcome;
}

}  // namespace jitterscope
