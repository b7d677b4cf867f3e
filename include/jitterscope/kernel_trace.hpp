// Kernels as the tracing library of a device reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Of a kernel: a grid in blocks, a block in threads. Zeros for copies, memsets and simulated kernels.
struct KernelExtent {
  std::uint32_t x = 0, y = 0, z = 0;
  bool operator==(const KernelExtent&) const = default;
};

/// One kernel, copy or memset as a tracing library reports it.
struct KernelTime {
  std::string name;
  Nanoseconds start, end;
  /// What KernelTracer::begin_launch was told before the call that put it on the device; nothing where that
  /// call was made outside of a launch.
  std::optional<std::uint64_t> launch = {};
  int device = 0;                 ///< number of the GPU
  std::uint32_t stream = 0;       ///< the tracing library's number of it
  std::uint32_t correlation = 0;  ///< of the call to the driver or the runtime that put it on the device
  std::optional<std::uint64_t> graph_node =
      {};  ///< where a graph was launched: its nodes share a correlation
  KernelExtent grid = {}, block = {};
};
/// Traces every kernel of the workloads between its construction and stop(); the device's own helper
/// kernels (gate, clock stamp, eviction) are left out. Everything slows while it lives.
class KernelTracer {
 public:
  virtual ~KernelTracer() = default;
  /// What the process puts on the device from here to end_launch, from any thread, belongs to this launch.
  virtual void begin_launch(std::uint64_t launch) = 0;
  virtual void end_launch() = 0;
  /// In order of their start. The device must be idle.
  virtual std::vector<KernelTime> stop() = 0;
};

}  // namespace jitterscope
