// Launches of a chain that may run side by side, on several streams: one item of a queue.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/virtual/timeline.hpp"

namespace jitterscope::virtual_gpu {

/// Delays are counted in gaps between launches, which are shorter in a recording.
struct GroupLaunch {
  struct Dependency {
    std::size_t launch = 0;
    double gaps = 0.0;
  };
  std::shared_ptr<Kernel> kernel;
  std::size_t stream = 0;
  std::vector<Dependency> dependencies = {};
  std::optional<std::size_t> reads = {};  ///< what another launch of the group writes
  Nanoseconds called = {};                ///< by the host
  KernelTime origin = {};
};

struct StreamGroup {
  std::vector<GroupLaunch> launches;
  std::vector<double> parts;  ///< gaps from the group's start to each stream's
  double joins = 0.0;         ///< gaps from the end of the last launch to that of the group
  Nanoseconds load;           ///< of other blocks on all processors meanwhile; zero: none
  bool passes_load = false;
};

/// A group's turn on its queue.
struct GroupTurn {
  Nanoseconds start, gap;
  std::optional<KernelTime> replay = {};  ///< of a recording: what a tracer knows; its first launch's node
};

/// Runs all of it; when it ends.
Nanoseconds run_group(Timeline& timeline, const StreamGroup& group, const GroupTurn& turn);

}  // namespace jitterscope::virtual_gpu
