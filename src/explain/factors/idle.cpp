// Clock after idle. Intervention: a longer idle before the loop. Signature: the time follows the clock, so
// that cycles stay; it saturates where the clock has fallen as far as it goes. Confused with: other state
// that an idle device loses (a sleeping link, a cold cache of another program's making).
#include "base/quantity_text.hpp"
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor idle(const FactorContext& context) {
  Factor factor{
      .id = "idle",
      .cause = "an idle before the loop",
      .usual = duration_text(Treatment().idle) + " idle",
      .doses_grow = true,
      .remedy = "Keep the device busy before what is timed, or time behind a fixed idle and say so."};
  for (const Nanoseconds time : {milliseconds(50), milliseconds(150), milliseconds(400)}) {
    factor.doses.push_back(
        {duration_text(time) + " idle", [time](Treatment& treatment) { treatment.idle = time; }});
  }
  if (context.device.capabilities.is_host) {
    factor.not_available = "the clock of a CPU belongs to its other programs too";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
