// Starts the processes of workers: each by its program, or forked from one that has imported what all need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "jitterscope/units.hpp"
#include "judge/sandbox.hpp"
#include "judge/worker.hpp"

namespace jitterscope::judging {

/// How a worker is begun.
struct WorkerProgram {
  std::vector<std::string> arguments;    ///< of a program by its full path; it speaks on descriptor 0
  std::vector<std::string> environment;  ///< "NAME=value"; nothing of the judge's own is added
  bool is_on_gpu = false;
  Nanoseconds deadline = seconds(60);  ///< for each answer
  ProcessLimits limits = {};
  std::function<bool()> interrupted = {};
  std::function<std::optional<GpuClock>()> read_clock = {};  ///< of the GPU that is judged
};

/// The caller's memory for a worker's outputs (descriptor 3), and the folder that becomes its working
/// directory, HOME and TMPDIR.
struct WorkerPlace {
  int memory = -1;
  std::string folder;
};

/// A worker's process, in a process group of its own. Whoever starts it waits for it.
struct WorkerProcess {
  pid_t pid = -1;
  Descriptor socket;  ///< of packets: a worker cannot leave half a message behind
  Descriptor errors;  ///< a file of what it wrote to standard error
};

/// Starts the program with a socket (descriptor 0) and its place. Throws FailedError if that is impossible.
WorkerProcess execute_worker(const WorkerProgram& program, const WorkerPlace& place);

/// Returns the number as a descriptor above those that a worker gives to its own. Throws FailedError if
/// `number` is none.
Descriptor out_of_the_way(int number, const char* what);

/// Kills its process group.
void kill_worker(pid_t pid);

inline constexpr std::size_t kLongestMessage = std::size_t{64} * 1024;
/// Returns the packet that lies on the socket; empty if the other side has ended.
std::string read_packet(const Descriptor& socket);

/// No worker could be forked, or not one that is held back as well as an executed one.
struct NotForked : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A process that has imported PyTorch and has touched no GPU. Its forks begin in some milliseconds where the
/// import takes seconds. They share the layout of their memory, so that
/// pairs of them differ less than pairs of executed processes do. The server runs no code of a candidate, and
/// knows no key.
class ForkServer {
 public:
  /// Starts it and does not wait. `modules` are names for Python's import, of those that may be forked behind
  /// it; those that are not installed are left out. The program must outlive this.
  ForkServer(const WorkerProgram& program, const std::vector<std::string>& modules);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  /// Throws NotForked.
  WorkerProcess start_worker(const WorkerPlace& place);

 private:
  const WorkerProgram& program_;
  TemporaryFolder folder_;
  WorkerProcess process_;
  std::optional<Held> wanted_;  ///< of each worker; known once the server is ready
};

/// Turns the calling process, a fork of the server, into a worker: it takes these descriptors as 0, 2 and 3,
/// and limits and folder, and is held back. Returns the bits of hold_back().
int become_worker(int socket, int errors, int memory, const OwnFiles& files, const ProcessLimits& limits);

}  // namespace jitterscope::judging
