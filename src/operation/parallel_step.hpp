// A training step as one rank of several runs it: a network's calls, and collectives among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope {

/// Calls of the network, from `begin` to before `end`.
struct CallRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const CallRange&) const = default;
};

/// A collective of a step. Launches are numbered as they are made: a call may be launched several times.
struct StepExchange {
  Operation collective;    ///< its ranks are filled in where it is prepared
  std::size_t after = 0;   ///< it begins once this many launches have ended, and the exchange before it
  std::size_t before = 0;  ///< the first launch that waits for it; the number of launches: the step's end
};

/// Exchanges are in the order in which they are launched: by `after`. If a call runs beside one of them, they
/// run on a second stream, else on that of the calls. All ranks launch the same exchanges in the same order,
/// also those in which they take no part.
struct ParallelStep {
  std::string name;  ///< "resnet50, buckets of 25 MiB"
  Model network;     ///< there may be no calls
  /// Calls in the order in which they are launched; empty: each of the network once. Micro-batches launch a
  /// call several times, in the same memory.
  std::vector<CallRange> order = {};
  std::vector<StepExchange> exchanges = {};

  std::size_t launches() const;
  /// Returns the call of each launch.
  std::vector<std::size_t> calls() const;
};

/// True if a call runs beside an exchange.
bool runs_beside(const ParallelStep& step);

/// Throws UsageError for calls that the network does not have, and for exchanges that are no collectives, out
/// of order, or beyond the step's launches.
void check_step(const ParallelStep& step);

}  // namespace jitterscope
