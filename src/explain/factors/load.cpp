// Power and heat. Intervention: a large product without pause right before the loop (no setting is changed).
// Signature: the clock falls, cycles stay. Power acts within 0.1 s, heat over seconds; a study of seconds
// cannot tell the two apart, so that they are named together.
#include "base/quantity_text.hpp"
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor load(const FactorContext& context) {
  Factor factor{.id = "load",
                .cause = "a heavy load right before (power or heat)",
                .usual = "none",
                .doses_grow = true,
                .remedy =
                    "Let the device rest before what is timed, or time under the load that it will run "
                    "in (--load sustained).",
                .not_told_from = {"power", "temperature"}};
  for (const Nanoseconds time : {milliseconds(30), milliseconds(100), milliseconds(300)}) {
    factor.doses.push_back({duration_text(time) + " of products", [time](Treatment& treatment) {
                              treatment.load = time;
                              treatment.idle = Nanoseconds(0);
                            }});
  }
  if (!context.device.power_limit) factor.not_available = "this device limits no power that could be read";
  return factor;
}

}  // namespace jitterscope::explain::factors
