// Contention by another process. Intervention: a fresh process of ours runs work on the same device while the
// loop runs, for a part of the time; between loops it rests. Signature: two processes share a GPU by turns of
// some milliseconds, so that most launches take their usual time or wait for a whole turn; on a CPU both have
// threads on the same cores. Confused with: another queue of the same process (contention_*), which runs
// beside and not by turns; the power that more work takes; the memory that a second process needs. The plain
// loops have the process beside them, too, at rest.
#include <utility>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {
namespace {

// What all three have in common; id, cause and remedy are each one's own.
Factor neighbour(Factor factor, CompanionWork work, const FactorContext& context) {
  factor.usual = "no other process at work on the device";
  factor = with_work_beside(std::move(factor), work, &Treatment::neighbour);
  if (context.device.capabilities.is_simulated) {
    factor.not_available = "a simulated GPU lives in one process, and no other can work on it";
  } else if (!context.starts_processes) {
    factor.not_available = "no other process can be started from here; `jitterscope explain` does";
  }
  return factor;
}

}  // namespace

Factor neighbour_kernels(const FactorContext& context) {
  const bool is_host = context.device.capabilities.is_host;
  return neighbour({.id = "neighbour_kernels",
                    .cause = "another process that computes on all processors",
                    .remedy = is_host ? "Keep other programs off these cores (a queue of jobs, taskset)."
                                      : "Let one process have the device at a time (exclusive mode, a queue "
                                        "of jobs), or divide it (MIG)."},
                   CompanionWork::kernels, context);
}

Factor neighbour_memory(const FactorContext& context) {
  return neighbour({.id = "neighbour_memory",
                    .cause = "another process that moves data within the device's memory",
                    .remedy = "Keep other processes' large copies away from this work."},
                   CompanionWork::memory, context);
}

Factor neighbour_link(const FactorContext& context) {
  Factor factor = neighbour({.id = "neighbour_link",
                             .cause = "another process that copies from the host",
                             .remedy = "Keep other processes' transfers away from this work, or copy less."},
                            CompanionWork::link, context);
  if (context.device.capabilities.is_host) factor.not_available = "a CPU's memory is the host's";
  return factor;
}

}  // namespace jitterscope::explain::factors
