// Processes that run code which wants to cheat, on this machine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "judge/worker.hpp"
#include "judge/worker_start.hpp"

namespace jitterscope::judging {

class UntrustedWorker : public Worker {
 public:
  /// Tells it to load the reference's file and, on a GPU, to call it once in a case like this; does not wait.
  /// Called before all else.
  virtual void prepare(const std::string& reference, const CaseValues& values) = 0;
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
  /// Keeps as many as are wanted, forks of the server if there is one. The program must outlive this.
  ReadyWorkers(const WorkerProgram& program, std::string reference, CaseValues values, std::size_t wanted,
               std::unique_ptr<ForkServer> server)
      : program_(program),
        reference_(std::move(reference)),
        values_(std::move(values)),
        wanted_(wanted),
        server_(std::move(server)) {}

  /// Starts those that are missing, and does not wait.
  void refill();
  /// Waits until all are ready: what is being imported would disturb what is timed.
  void settle();
  bool is_empty() const { return workers_.empty(); }
  /// Returns a worker, a new one where none is ready.
  std::unique_ptr<Worker> take();

 private:
  std::unique_ptr<UntrustedWorker> start();

  const WorkerProgram& program_;
  std::string reference_;
  CaseValues values_;
  std::size_t wanted_;
  std::unique_ptr<ForkServer> server_;
  std::vector<std::unique_ptr<UntrustedWorker>> workers_;
};

/// A reference's file as it is read before any of it runs.
struct ReferenceDescription {
  Form form = Form::make;
  bool imports_torch = false;     ///< at its top, or within a function
  std::vector<CaseValues> cases;  ///< of a kernelbot task beside it; empty if there are none
};
/// Asks a process of its own, which reads the file's syntax tree. Throws UsageError that says what is
/// missing.
ReferenceDescription describe_reference(const WorkerProgram& program, const std::string& target);

}  // namespace jitterscope::judging
