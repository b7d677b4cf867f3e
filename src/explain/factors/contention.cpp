// Contention. Intervention: work of ours on a second queue while the loop runs, for a part of the time.
// Signature: launches wait for processors (kernels), for the memory (copies within it) or for neither (copies
// from the host, which have engines of their own); the clock may fall, since more work takes more power.
// Confused with: that power, and the host's time for launching the other work, which a load and a slower host
// have too. On CUDA a second stream makes recordings slower from then on (docs/method.md), so that these are
// tried last.
#include <fmt/format.h>

#include <utility>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor with_work_beside(Factor factor, CompanionWork work, std::optional<Companion> Treatment::*beside) {
  factor.doses_grow = true;
  factor.is_tried_last = true;
  factor.when_time_is_short = WhenShort::leave_out;
  for (const double duty : {0.25, 0.5, 1.0}) {
    factor.doses.push_back({fmt::format("for {:.0f} % of the time", duty * 100.0), [=](Treatment& treatment) {
                              treatment.*beside = Companion{work, duty};
                            }});
  }
  return factor;
}

namespace {

// What all three have in common; id, cause and remedy are each one's own.
Factor contention(Factor factor, CompanionWork work, const FactorContext& context) {
  factor.usual = "nothing else on the device";
  factor = with_work_beside(std::move(factor), work, &Treatment::companion);
  if (!context.device.capabilities.runs_queues_beside) {
    factor.not_available = "this device has one queue, and runs one thing after the other";
  }
  return factor;
}

}  // namespace

Factor contention_kernels(const FactorContext& context) {
  return contention(
      {.id = "contention_kernels",
       .cause = "kernels of another queue on all processors",
       .remedy = "Give the work that matters a stream of higher priority, or run the other after it."},
      CompanionWork::kernels, context);
}

Factor contention_memory(const FactorContext& context) {
  return contention(
      {.id = "contention_memory",
       .cause = "another queue that moves data within the device's memory",
       .remedy = "Keep large copies and memory-bound kernels of other streams away from this work."},
      CompanionWork::memory, context);
}

Factor contention_link(const FactorContext& context) {
  return contention({.id = "contention_link",
                     .cause = "another queue that copies from the host",
                     .remedy = "Copy inputs while work runs that does not notice, or copy less."},
                    CompanionWork::link, context);
}

}  // namespace jitterscope::explain::factors
