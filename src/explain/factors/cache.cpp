// L2 state. Intervention: operands evicted before each launch, the lines there clean or modified. Signature:
// a step in time with the clock as it was. Confused with: the power that eviction draws, which the clock
// shows.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor cache(const FactorContext&) {
  return {
      .id = "cache",
      .cause = "operands that are not in the cache",
      .usual = "warm",
      .doses = {{"cold", [](Treatment& treatment) { treatment.cache = CacheState::cold; }},
                {"cold, lines modified", [](Treatment& treatment) { treatment.cache = CacheState::dirty; }}},
      .remedy = "Time in the cache state that the program has (--cache warm, cold or produced)."};
}

}  // namespace jitterscope::explain::factors
