// Workers that are started before they are needed: the import of PyTorch alone takes seconds.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "judge/untrusted_process.hpp"

namespace jitterscope::judging {

/// Each has loaded the reference's file, and serves for one side of one pair.
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

}  // namespace jitterscope::judging
