// Synchronization. Intervention: the host waits behind each launch, as the driver does it, by asking again
// and again, or asleep until an interrupt. Signature: the queue is empty at each launch; the clock may fall
// between short ones.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor synchronization(const FactorContext& context) {
  Factor factor{
      .id = "synchronization",
      .cause = "a wait behind each launch",
      .usual = "one behind the loop",
      .doses = {{"wait behind each", [](Treatment& treatment) { treatment.wait = WaitBehindEach::usual; }},
                {"poll behind each", [](Treatment& treatment) { treatment.wait = WaitBehindEach::polling; }}},
      .remedy = "Wait once behind many launches; where each must be waited for, spin rather than sleep."};
  if (context.device.capabilities.waits_can_sleep) {
    factor.doses.push_back(
        {"sleep behind each", [](Treatment& treatment) { treatment.wait = WaitBehindEach::asleep; }});
  }
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
