// Processes that run code which wants to cheat, on this machine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/subprocess.hpp"
#include "judge/worker.hpp"

namespace jitterscope::judging {

/// How a worker is begun.
struct WorkerProgram {
  std::vector<std::string> arguments;    ///< of a program by its full path; it speaks on descriptor 0
  std::vector<std::string> environment;  ///< "NAME=value"; nothing of the judge's own is added
  bool is_on_gpu = false;
  Nanoseconds deadline = seconds(60);  ///< for each answer
  /// Of what one process may have. Address space is not limited: a GPU's driver reserves far more than it
  /// uses.
  Bytes data = Bytes(std::int64_t{16} << 30), file = Bytes(std::int64_t{64} << 20);
  /// Of its folder and of /dev/shm, each, where they can be its own.
  Bytes folder = Bytes(std::int64_t{1} << 30);
  std::int64_t descriptors = 1024, core_seconds = 3600;
  std::function<bool()> interrupted = {};
};

class UntrustedWorker : public Worker {
 public:
  /// Tells it to load the reference's file, and does not wait. Called before all else.
  virtual void prepare(const std::string& reference) = 0;
  /// Waits until that is done. False if it failed or the process has ended: then this worker is of no use.
  virtual bool is_prepared() = 0;
};

/// Starts the program with nothing but a socket (descriptor 0), memory for its outputs (3) and a folder of
/// its own (its working directory, HOME and TMPDIR), which is removed with it. When the worker is destroyed,
/// its process and what that has started have ended. Throws FailedError if none can be started.
std::unique_ptr<UntrustedWorker> start_untrusted(const WorkerProgram& program);

/// Workers that are started before they are needed: the import of PyTorch alone takes seconds. Each has
/// loaded the reference's file, and serves for one side of one pair.
class ReadyWorkers {
 public:
  /// Keeps as many as are wanted. The program must outlive this.
  ReadyWorkers(const WorkerProgram& program, std::string reference, std::size_t wanted)
      : program_(program), reference_(std::move(reference)), wanted_(wanted) {}

  /// Starts those that are missing, and does not wait.
  void refill();
  /// Waits until all are ready: what is being imported would disturb what is timed.
  void settle();
  bool is_empty() const { return workers_.empty(); }
  /// Returns a worker, a new one where none is ready.
  std::unique_ptr<Worker> take();

 private:
  const WorkerProgram& program_;
  std::string reference_;
  std::size_t wanted_;
  std::vector<std::unique_ptr<UntrustedWorker>> workers_;
};

/// What a reference's file says of itself before any of it runs.
struct ReferenceDescription {
  Form form = Form::make;
  bool imports_torch = false;     ///< at its top, or within a function
  std::vector<CaseValues> cases;  ///< of a kernelbot task beside it; empty if there are none
};
/// Asks a process of its own, which reads the file's syntax tree. Throws UsageError that says what is
/// missing.
ReferenceDescription describe_reference(const WorkerProgram& program, const std::string& target);

}  // namespace jitterscope::judging
