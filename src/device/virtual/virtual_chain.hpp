// Chains on a virtual GPU: as on a real one, steps on several streams are put there launch by launch, and run
// side by side where there is room.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/chain.hpp"
#include "device/virtual/timeline.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

/// `prepare` makes VirtualOperations.
std::unique_ptr<PreparedOperation> prepare_virtual_chain(Timeline& timeline, const Operation& operation,
                                                         const InputData& data,
                                                         const PreparedChain::PrepareStep& prepare);

// Launches of a chain that may run side by side, on several streams: one item of a queue.

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

// How much of a virtual GPU one launch keeps busy, which is what it leaves to others beside it.

Engine engine_of(const Operation& operation);

/// The share of the processors that an operation's blocks fill when all of them run at once, at most 1.
double share_of_processors(const physics::Parameters& parameters, const Operation& operation);

}  // namespace jitterscope::virtual_gpu
