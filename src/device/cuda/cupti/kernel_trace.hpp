// Kernel start and end times as CUPTI reports them: the reference that other instruments are judged by.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Records every kernel, copy and memset of this process from construction to stop(). Everything slows
/// while it lives (an empty kernel in a graph from 0.66 to 1.28 us on an H200), so no other instrument may be
/// read then, and a process that used it is best ended: overhead may stay. Throws MissingError where CUPTI is
/// not there, FailedError where another profiler holds it.
class KernelTrace final : public KernelTracer {
 public:
  KernelTrace();
  ~KernelTrace() override;
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;
  void begin_launch(std::uint64_t launch) override;
  void end_launch() override;
  /// Whether one is between its construction and its end.
  static bool is_recording();
  /// Flushes, ends the recording and gives all records but those of jitterscope's own helper kernels. Names
  /// are demangled, copies are named memcpy, memsets memset; times count from the start of the first record.
  std::vector<KernelTime> stop() override;
};

}  // namespace jitterscope::cuda
