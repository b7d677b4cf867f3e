// Start and end times of kernels from CUPTI: the reference by which other instruments are judged.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Records every kernel, copy and memset of this process from construction to stop(). Everything slows while
/// it lives (an empty kernel in a graph from 0.66 to 1.28 us on an H200), so no other instrument may be read
/// then, and a process that used it should end: overhead may stay. Throws MissingError if CUPTI is not there,
/// FailedError if another profiler holds it.
class KernelTrace final : public KernelTracer {
 public:
  KernelTrace();
  ~KernelTrace() override;
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;
  void begin_launch(std::uint64_t launch) override;
  void end_launch() override;
  /// True while a trace records, from its construction to its end.
  static bool is_recording();
  /// Flushes, ends the recording and returns all records but those of jitterscope's own helper kernels. Names
  /// are demangled; copies are named memcpy, memsets memset. Times count from the start of the first record.
  std::vector<KernelTime> stop() override;
};

}  // namespace jitterscope::cuda
