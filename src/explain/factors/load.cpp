// Power and heat. Intervention: a large product right before the loop, for a quarter of a time and for all of
// it (no setting is changed). Signature: the clock falls, cycles stay; what limits the average of power does
// less for the quarter. Power acts within 0.1 s, heat over seconds; a study of seconds cannot tell the two
// apart, so that they are named together.
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
  const auto add = [&factor](Nanoseconds time, double duty, const char* duty_text) {
    factor.doses.push_back(
        {duration_text(time) + " of products" + duty_text, [time, duty](Treatment& treatment) {
           treatment.load = time;
           treatment.load_duty = duty;
           treatment.idle = Nanoseconds(0);
         }});
  };
  add(milliseconds(100), 0.25, ", a quarter of the time");
  add(milliseconds(100), 1.0, "");
  add(milliseconds(300), 1.0, "");
  if (!context.device.power_limit) factor.not_available = "this device limits no power that could be read";
  return factor;
}

}  // namespace jitterscope::explain::factors
