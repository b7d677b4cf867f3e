// Chains on a virtual GPU. As on a real one, steps on several streams are launched one by one and run side by
// side if there is room.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/chain.hpp"
#include "device/virtual/timeline.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

/// `prepare` must return VirtualOperations.
std::unique_ptr<PreparedOperation> prepare_virtual_chain(Timeline& timeline, const Operation& operation,
                                                         const InputData& data,
                                                         const PreparedChain::PrepareStep& prepare);

// A group of launches that may run side by side, on several streams: one item of a queue.

/// Delays are counted in gaps between launches, which are shorter in a recording.
struct GroupLaunch {
  struct Dependency {
    std::size_t launch = 0;
    double gaps = 0.0;
  };
  std::shared_ptr<Kernel> kernel;
  std::size_t stream = 0;
  std::vector<Dependency> dependencies = {};
  std::optional<std::size_t> reads = {};  ///< launch of the group that writes its input
  Nanoseconds called = {};                ///< by the host
  KernelTime origin = {};
};

struct StreamGroup {
  std::vector<GroupLaunch> launches;
  std::vector<double> parts;  ///< gaps from the group's start to each stream's
  double joins = 0.0;         ///< gaps from the last launch's end to the group's
  Nanoseconds load;           ///< time of other blocks on all processors; zero: none
  bool passes_load = false;
};

/// A group's turn on its queue.
struct GroupTurn {
  Nanoseconds start, gap;
  std::optional<KernelTime> replay = {};  ///< set in a recording, for tracers; its node is the first launch's
};

/// Runs the group; returns its end.
Nanoseconds run_group(Timeline& timeline, const StreamGroup& group, const GroupTurn& turn);

Engine engine_of(const Operation& operation);

/// Share of the processors that an operation's blocks fill if all run at once, at most 1.
double share_of_processors(const physics::Parameters& parameters, const Operation& operation);

}  // namespace jitterscope::virtual_gpu
