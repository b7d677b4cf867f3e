// Launch. Intervention: all launches queued behind a gate, or recorded as a graph. Signature: a constant per
// launch, the clock as it was; no effect where a launch is longer than the host needs to launch.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor queue(const FactorContext& context) {
  Factor factor{
      .id = "queue",
      .cause = "how work is launched (a queue that runs empty)",
      .usual = "launched one by one",
      .doses = {{"as a graph", [](Treatment& treatment) { treatment.queue = QueueMode::graph; }},
                {"behind a gate", [](Treatment& treatment) { treatment.queue = QueueMode::saturated; }}},
      .remedy =
          "Record short launches as a graph, or launch ahead; events around a launch into an "
          "empty queue read the host."};
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done";
  } else if (context.launches_wait) {
    factor.not_available = "a launch waits for the device";
  } else if (!context.fits_queue) {
    factor.doses.pop_back();  // the gate would wait for launches that wait for the gate
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
