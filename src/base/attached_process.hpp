// Runs a program as `env` would: with the streams, the terminal and the signals of this process.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace jitterscope {

/// How a process ended.
struct EndedProcess {
  pid_t pid = 0;
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< 0: ended by itself
  bool operator==(const EndedProcess&) const = default;
};

/// The program is started by start() and waited for by wait(). Between the constructor and the destructor
/// signals do not reach this process but wait() alone, so threads that are to live meanwhile are started in
/// between.
class AttachedProcess {
 public:
  /// `ignored` are the signals that this process was told to ignore (nohup), before it took them for itself:
  /// the program ignores them, too.
  explicit AttachedProcess(std::vector<int> ignored = {});
  /// Gives the signals back. The program is not ended.
  ~AttachedProcess();
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  /// Returns 0, or errno where the program cannot be started. `changes` are set in its environment.
  int start(const std::vector<std::string>& command,
            const std::vector<std::pair<std::string, std::string>>& changes);

  struct Outcome {
    int exit_code = 0;                ///< the program's as a shell says it: 128 + N where signal N ended it
    std::vector<EndedProcess> ended;  ///< the program, and processes of its whose parents ended before them
    bool is_complete = true;          ///< false: processes are left, and a second signal ended the waiting
  };
  /// Waits for the program and for all processes that it leaves behind. Signals from other processes are
  /// passed on to it, or to what it left; those of the terminal reach it without that. Once the program has
  /// ended, the second signal that asks for an end ends the waiting. `left_behind` is called once, with the
  /// number of processes, where these go on for some time after the program.
  Outcome wait(const std::function<void(std::size_t)>& left_behind);

 private:
  bool reap(Outcome& outcome);
  void pass_on(int signal) const;

  static constexpr std::array kPassedOn = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

  std::vector<int> ignored_;
  sigset_t awaited_{}, mask_before_{};
  std::vector<std::pair<int, struct sigaction>> actions_before_;
  int was_subreaper_ = 0;
  pid_t pid_ = 0;  ///< of the program while it lives
};

/// Returns the file that a shell would run for a command's first word; empty, with errno, if there is none.
std::string program_file(const std::string& name);

/// Returns the exit code of `env` and of shells where a program cannot be started: 127 if it is not there,
/// else 126.
int exit_code_of_start(int problem);

}  // namespace jitterscope
