// Kernel start and end times as CUPTI reports them: the reference that other instruments are judged by.
#pragma once

#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

struct KernelRecord {
  std::string name;        ///< demangled; copies are named memcpy, memsets memset
  Nanoseconds start, end;  ///< since the start of the first record
};

/// Records every kernel, copy and memset of this process from construction to stop(). Everything slows
/// while it lives (an empty kernel in a graph from 0.66 to 1.28 us on an H200), so no other instrument may be
/// read then, and a process that used it is best ended: overhead may stay. Throws MissingError where CUPTI is not
/// there, FailedError where another profiler holds it.
class KernelTrace {
 public:
  KernelTrace();
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;
  /// Flushes, ends the recording and gives all records in order of their start. The device must be idle.
  std::vector<KernelRecord> stop();
};

}  // namespace jitterscope::cuda
