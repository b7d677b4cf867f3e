// Host cost. Intervention: each launch call takes the host a known time longer. Signature: no effect until
// the host is slower than the device, then all of the delay. Confused with: nothing else that adds up.
#include "base/quantity_text.hpp"
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor host_delay(const FactorContext& context) {
  Factor factor{.id = "host_delay",
                .cause = "a slower host",
                .usual = "launch calls as fast as they are",
                .doses_grow = true,
                .remedy = "The host is the limit: launch ahead, record a graph, or do less per launch."};
  for (const Nanoseconds time : {microseconds(2), microseconds(5), microseconds(20)}) {
    factor.doses.push_back(
        {duration_text(time) + " per call", [time](Treatment& treatment) { treatment.host_delay = time; }});
  }
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done, so that a slower host shows at once";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
