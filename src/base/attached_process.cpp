#include "base/attached_process.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants the program to declare it

namespace jitterscope {
namespace {

// Raised where a stream's reader has gone, and where a file reaches its limit: both are then errors of a
// write.
constexpr std::array kOfWrites = {SIGPIPE, SIGXFSZ};

// Most programs' helpers end with them; who waits for longer wants to know why.
constexpr timespec kUntilTold = {.tv_sec = 2, .tv_nsec = 0};

std::vector<std::string> changed_environment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const bool is_changed = std::ranges::any_of(
        changes, [&](const auto& change) { return variable.starts_with(change.first + '='); });
    if (!is_changed) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : changes) variables.push_back(name + '=' + value);
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns this process's children. Those that lost their parent may be any thread's.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code problem;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", problem)) {
    const std::string text = file_text(thread.path() / "children").text;
    const char* at = text.data();
    const char* const end = at + text.size();
    pid_t pid = 0;
    for (auto read = std::from_chars(at, end, pid); read.ec == std::errc();
         read = std::from_chars(at, end, pid)) {
      found.push_back(pid);
      at = std::find_if(read.ptr, end, [](char c) { return c >= '0' && c <= '9'; });
    }
  }
  return found;
}

EndedProcess ended_with(pid_t pid, int status) {
  EndedProcess ended{.pid = pid};
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

}  // namespace

AttachedProcess::AttachedProcess(std::vector<int> ignored) : ignored_(std::move(ignored)) {
  const auto set_action = [&](int number, void (*handler)(int)) {
    struct sigaction action {
    }, before{};
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) ignored_.push_back(number);
    const bool is_ignored = std::ranges::find(ignored_, number) != ignored_.end();
    action.sa_handler = is_ignored ? SIG_IGN : handler;
    sigaction(number, &action, nullptr);
    actions_before_.emplace_back(number, before);
    return is_ignored;
  };
  sigemptyset(&awaited_);
  // With handlers removed the program begins with the actions that it would have without this process.
  for (const int number : kPassedOn) {
    if (!set_action(number, SIG_DFL)) sigaddset(&awaited_, number);
  }
  // Whoever ignores this one cannot wait.
  struct sigaction of_children {};
  of_children.sa_handler = SIG_DFL;
  actions_before_.emplace_back(SIGCHLD, of_children);
  sigaction(SIGCHLD, &of_children, &actions_before_.back().second);
  sigaddset(&awaited_, SIGCHLD);
  for (const int number : kOfWrites) set_action(number, SIG_IGN);
  pthread_sigmask(SIG_BLOCK, &awaited_, &mask_before_);
  prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

AttachedProcess::~AttachedProcess() {
  prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_);
  for (const auto& [number, action] : actions_before_) sigaction(number, &action, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

int AttachedProcess::start(const std::vector<std::string>& command,
                           const std::vector<std::pair<std::string, std::string>>& changes) {
  const std::string file = program_file(command.front());
  if (file.empty()) return errno;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &mask_before_);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : kOfWrites) {
    if (std::ranges::find(ignored_, number) == ignored_.end()) sigaddset(&defaults, number);
  }
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  const std::vector<std::string> environment = changed_environment(changes);
  const std::vector<char*> variables = pointers_to(environment);
  const auto spawn = [&](const std::string& program, const std::vector<std::string>& words) {
    return ::posix_spawn(&pid_, program.c_str(), nullptr, &attributes, pointers_to(words).data(),
                         variables.data());
  };
  int problem = spawn(file, command);
  if (problem == ENOEXEC) {  // a script without its first line is the shell's, as for execvp
    std::vector<std::string> words = {"/bin/sh", file};
    words.insert(words.end(), command.begin() + 1, command.end());
    problem = spawn(words.front(), words);
  }
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) pid_ = 0;
  return problem;
}

// Returns false once there is no process left to wait for.
bool AttachedProcess::reap(Outcome& outcome) {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    outcome.ended.push_back(ended_with(pid, status));
    if (pid != pid_) continue;
    pid_ = 0;
    const EndedProcess& program = outcome.ended.back();
    outcome.exit_code = program.signal == 0 ? program.exit_code : 128 + program.signal;
  }
  return pid == 0;
}

void AttachedProcess::pass_on(int signal) const {
  if (pid_ != 0) {
    ::kill(pid_, signal);
    return;
  }
  for (const pid_t pid : children()) ::kill(pid, signal);
}

AttachedProcess::Outcome AttachedProcess::wait(const std::function<void(std::size_t)>& left_behind) {
  Outcome outcome;
  int ends_asked_for = 0;
  bool is_told = left_behind == nullptr;
  while (reap(outcome)) {
    siginfo_t signal{};
    const bool waits_to_tell = pid_ == 0 && !is_told;
    const int number =
        waits_to_tell ? sigtimedwait(&awaited_, &signal, &kUntilTold) : sigwaitinfo(&awaited_, &signal);
    if (number < 0 && errno == EAGAIN) {
      is_told = true;
      left_behind(children().size());
    }
    if (number < 0 || number == SIGCHLD) continue;
    if (number != SIGUSR1 && number != SIGUSR2) ++ends_asked_for;
    if (pid_ == 0 && ends_asked_for > 1) {
      outcome.is_complete = false;
      break;
    }
    const bool is_of_a_process = signal.si_code <= 0;
    if (is_of_a_process) pass_on(number);
  }
  return outcome;
}

std::string program_file(const std::string& name) {
  int problem = ENOENT;
  const auto runs = [&](const std::string& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) {
      if (errno != ENOENT) problem = errno;
      return false;
    }
    if (S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0) return true;
    problem = EACCES;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
    errno = problem;
    return {};
  }
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (!name.empty()) {
    const std::string folder(folders.substr(0, folders.find(':')));
    std::string file = (folder.empty() ? "." : folder) + '/' + name;
    if (runs(file)) return file;
    if (folder.size() == folders.size()) break;
    folders.remove_prefix(folder.size() + 1);
  }
  errno = problem;
  return {};
}

int exit_code_of_start(int problem) { return problem == ENOENT ? 127 : 126; }

}  // namespace jitterscope
