// The instrument. Intervention: the same work read by jitterscope's own instrument (behind a gate, its
// constant taken off, a slope of recordings where launches are short). Signature: a constant in time, not in
// percent.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor instrument(const FactorContext&) {
  return {.id = "instrument",
          .cause = "what the timing method itself adds",
          .usual = "events around each launch",
          .doses = {{"our own instrument", [](Treatment& treatment) { treatment.is_own_reading = true; }}},
          .remedy = "Take the method's constant off (jitterscope methods shows each method's)."};
}

}  // namespace jitterscope::explain::factors
