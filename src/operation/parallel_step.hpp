// A training step as one rank of several runs it: a network's calls, and collectives among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope {

/// A collective of a step.
struct StepExchange {
  Operation collective;    ///< its ranks are filled in where it is prepared
  std::size_t after = 0;   ///< it begins once this many calls have ended, and the exchange before it
  std::size_t before = 0;  ///< the first call that waits for it; the number of calls: the step's end
};

/// Exchanges are in the order in which they are launched: by `after`. If a call runs beside one of them, they
/// run on a second stream, else on that of the calls.
struct ParallelStep {
  std::string name;         ///< "resnet50, buckets of 25 MiB"
  Model network;            ///< its calls are run in their order; there may be none
  std::int64_t passes = 1;  ///< how often they are run: of micro-batches whose gradients are added up
  std::vector<StepExchange> exchanges = {};

  std::size_t calls() const { return network.calls.size() * static_cast<std::size_t>(passes); }
};

/// True if a call runs beside an exchange.
bool runs_beside(const ParallelStep& step);

/// Throws UsageError for exchanges that are no collectives, out of order, or beyond the step's calls.
void check_step(const ParallelStep& step);

}  // namespace jitterscope
