// Synchronization. Intervention: the host waits behind each launch. Signature: the queue is empty at each
// launch; the clock may fall between short ones.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor synchronization(const FactorContext& context) {
  Factor factor{
      .id = "synchronization",
      .cause = "a wait behind each launch",
      .usual = "one behind the loop",
      .doses = {{"wait behind each", [](Treatment& treatment) { treatment.waits_for_each = true; }}},
      .remedy = "Wait once behind many launches."};
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
