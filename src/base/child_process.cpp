#include "base/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/line_reader.hpp"
#include "jitterscope/error.hpp"

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
  if (::poll(streams.data(), streams.size(), milliseconds) <= 0) return true;  // nothing, or a signal
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

}  // namespace jitterscope
