// A core that the launching thread keeps to, and a thread of ours that is busy there.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

namespace jitterscope::explain {

/// Keeps the calling thread on the core that it is on. Whatever it was allowed before it is again when this
/// is destroyed, by the same thread.
class PinnedThread {
 public:
  /// Throws UsageError where the system does not let it.
  PinnedThread();
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  cpu_set_t before_{};
};

/// Computes for a share of each 2 ms and sleeps for the rest, on the cores that the calling thread may use.
class BusyNeighbour {
 public:
  /// Returns when it computes.
  explicit BusyNeighbour(double share);
  ~BusyNeighbour();
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  void compute(double share);

  std::atomic<bool> runs_{false}, stops_{false};
  std::thread thread_;
};

}  // namespace jitterscope::explain
