#include "judge/worker_start.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/host.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::judging {
namespace {

// Below: what a child does to itself between fork and exec. Nothing there allocates memory.

// Descriptors of the child.
constexpr int kSocket = 0, kOutput = 1, kErrors = 2, kMemory = 3;

struct Prepared {
  std::vector<std::string> environment = {};
  std::vector<char*> arguments = {}, variables = {};
  int socket = -1, errors = -1, memory = -1;
};

void have_own_group() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Takes the descriptors that it has from now on; `memory` may be -1.
bool take_descriptors(int socket, int errors, int memory) {
  const int nothing = ::open("/dev/null", O_WRONLY);
  return ::dup2(socket, kSocket) >= 0 && ::dup2(nothing, kOutput) >= 0 && ::dup2(errors, kErrors) >= 0 &&
         (memory < 0 || ::dup2(memory, kMemory) >= 0);
}

[[noreturn]] void execute(const Prepared& prepared) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.variables.data());
  ::_exit(127);
}

// Below: the judge's side.

using Message = nlohmann::json;

struct Way {
  Descriptor ours, theirs;
};

Way new_way() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw FailedError(std::string("no way to a worker could be made: ") + std::strerror(errno));
  }
  Descriptor ours = out_of_the_way(ends[0], "a way to a worker");
  return {std::move(ours), out_of_the_way(ends[1], "a way to a worker")};
}

Descriptor new_errors() {
  return out_of_the_way(::memfd_create("errors", MFD_CLOEXEC), "memory for a worker's errors");
}

Prepared prepare(std::vector<std::string>& arguments, std::vector<std::string> environment,
                 const std::string& folder) {
  Prepared prepared;
  prepared.environment = std::move(environment);
  for (const char* name : {"HOME", "TMPDIR"})
    prepared.environment.push_back(fmt::format("{}={}", name, folder));
  for (std::string& word : arguments) prepared.arguments.push_back(word.data());
  for (std::string& word : prepared.environment) prepared.variables.push_back(word.data());
  prepared.arguments.push_back(nullptr);
  prepared.variables.push_back(nullptr);
  return prepared;
}

// The next message, which is empty if there is none in time, or none that is JSON.
Message hear(const Descriptor& socket, const WorkerProgram& program) {
  const Nanoseconds end = host_time_now() + program.deadline;
  constexpr int kPollMilliseconds = 100;
  pollfd waited{socket.number(), POLLIN, 0};
  while (::poll(&waited, 1, kPollMilliseconds) <= 0) {
    if (program.interrupted && program.interrupted()) throw InterruptedError();
    if (host_time_now() > end) return Message::object();
  }
  Message message = Message::parse(read_packet(socket), nullptr, false);
  return message.is_object() ? message : Message::object();
}

bool send_with(const Descriptor& socket, const std::string& text, const std::array<int, 3>& descriptors) {
  iovec content{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptors))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(descriptors));
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(descriptors));
  return ::sendmsg(socket.number(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

Descriptor out_of_the_way(int number, const char* what) {
  constexpr int kFirst = 16;
  Descriptor made(number < 0 ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, kFirst));
  const int problem = errno;
  if (number >= 0) ::close(number);
  if (made.number() < 0)
    throw FailedError(fmt::format("{} could not be made: {}", what, std::strerror(problem)));
  return made;
}

std::string read_packet(const Descriptor& socket) {
  std::string text(kLongestMessage, '\0');
  const ssize_t count = ::recv(socket.number(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

void kill_worker(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

int become_worker(int socket, int errors, int memory, const OwnFiles& files, const ProcessLimits& limits) {
  have_own_group();
  limit_process(limits);
  if (!take_descriptors(socket, errors, memory)) ::_exit(126);
  const int has = hold_back(files);
  if (::chdir(files.folder) != 0) ::_exit(126);  // behind the mount
  ::syscall(SYS_close_range, kMemory + 1, ~0U, 0);
  return has;
}

WorkerProcess execute_worker(const WorkerProgram& program, const WorkerPlace& place) {
  Way way = new_way();
  WorkerProcess worker{.pid = -1, .socket = std::move(way.ours), .errors = new_errors()};
  std::vector<std::string> arguments = program.arguments;
  const Prepared prepared = prepare(arguments, program.environment, place.folder);
  const OwnFiles files = own_files(place.folder.c_str(), program.limits.folder);
  worker.pid = start_in_sandbox(program.is_on_gpu);
  if (worker.pid == 0) {
    become_worker(way.theirs.number(), worker.errors.number(), place.memory, files, program.limits);
    execute(prepared);
  }
  if (worker.pid < 0) throw FailedError(std::string("no worker could be started: ") + std::strerror(errno));
  ::setpgid(worker.pid, worker.pid);  // the child does it, too: whoever comes first
  return worker;
}

ForkServer::ForkServer(const WorkerProgram& program, const std::vector<std::string>& modules)
    : program_(program) {
  // A worker's parent ends before the worker is used; then it is this process's child.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Way way = new_way();
  process_.socket = std::move(way.ours);
  process_.errors = new_errors();
  std::vector<std::string> arguments = program.arguments;
  const auto role = std::ranges::find(arguments, "judged-worker");
  if (role != arguments.end()) *role = "judged-fork-server";
  arguments.insert(arguments.end(), modules.begin(), modules.end());
  const Prepared prepared = prepare(arguments, program.environment, folder_.path().string());
  process_.pid = ::fork();
  if (process_.pid == 0) {
    have_own_group();
    if (!take_descriptors(way.theirs.number(), process_.errors.number(), -1)) ::_exit(126);
    ::syscall(SYS_close_range, kMemory, ~0U, 0);
    execute(prepared);
  }
  if (process_.pid < 0) throw FailedError(std::string("no worker could be started: ") + std::strerror(errno));
  ::setpgid(process_.pid, process_.pid);
}

ForkServer::~ForkServer() {
  kill_worker(process_.pid);
  ::waitpid(process_.pid, nullptr, 0);
}

WorkerProcess ForkServer::start_worker(const WorkerPlace& place) {
  if (!wanted_ && hear(process_.socket, program_).value("ready", false))
    wanted_ = held_by_sandbox(program_.is_on_gpu);
  if (!wanted_) throw NotForked("the server is not ready, or its imports touch a GPU");
  Way way = new_way();
  WorkerProcess worker{.pid = -1, .socket = std::move(way.ours), .errors = new_errors()};
  const OwnFiles files = own_files(place.folder.c_str(), program_.limits.folder);
  const ProcessLimits& limits = program_.limits;
  const Message order{{"namespaces", wanted_->namespaces},
                      {"folder", files.folder},
                      {"user", files.user},
                      {"group", files.group},
                      {"mount", files.options},
                      {"data", limits.data.value()},
                      {"file", limits.file.value()},
                      {"descriptors", limits.descriptors},
                      {"core_seconds", limits.core_seconds}};
  if (!send_with(process_.socket, order.dump(),
                 {way.theirs.number(), worker.errors.number(), place.memory})) {
    throw NotForked("the server has ended");
  }
  way.theirs.close();  // so that the end of the worker is seen
  worker.pid = hear(process_.socket, program_).value("pid", -1);
  if (worker.pid <= 0) throw NotForked("the server forked no process");
  if (::waitpid(worker.pid, nullptr, WNOHANG) != 0) {
    kill_worker(worker.pid);
    throw NotForked("a forked process is not this one's child");
  }
  try {
    const int has = hear(worker.socket, program_).value("has", 0);
    if ((has & wanted_->has) == wanted_->has) return worker;
  } catch (const InterruptedError&) {
    kill_worker(worker.pid);
    ::waitpid(worker.pid, nullptr, 0);
    throw;
  }
  kill_worker(worker.pid);
  ::waitpid(worker.pid, nullptr, 0);
  throw NotForked("a forked worker is not held back as an executed one is");
}

}  // namespace jitterscope::judging
