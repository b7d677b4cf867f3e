// Kernels as a device's tracing library reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Size of a grid in blocks or of a block in threads. Zeros for copies, memsets and simulated kernels.
struct KernelExtent {
  std::uint32_t x = 0, y = 0, z = 0;
  bool operator==(const KernelExtent&) const = default;
};

/// One kernel, copy or memset.
struct KernelTime {
  std::string name;
  Nanoseconds start, end;
  /// Number given to KernelTracer::begin_launch before the call that enqueued it; nullopt if that call was
  /// made outside of a launch.
  std::optional<std::uint64_t> launch = {};
  int device = 0;                                ///< number of the GPU
  std::uint32_t stream = 0;                      ///< the tracing library's number of the stream
  std::uint32_t correlation = 0;                 ///< identifies the driver or runtime call that enqueued it
  std::optional<std::uint64_t> graph_node = {};  ///< if launched by a graph, whose nodes share a correlation
  KernelExtent grid = {}, block = {};
};
/// Traces every kernel of the workloads between its construction and stop(), without the device's own helper
/// kernels (hold, clock stamp, eviction). Everything is slower while it exists.
class KernelTracer {
 public:
  virtual ~KernelTracer() = default;
  /// Work that the process enqueues from here to end_launch, from any thread, belongs to this launch.
  virtual void begin_launch(std::uint64_t launch) = 0;
  virtual void end_launch() = 0;
  /// Returns the kernels in order of their start. The device must be idle.
  virtual std::vector<KernelTime> stop() = 0;
};

}  // namespace jitterscope
