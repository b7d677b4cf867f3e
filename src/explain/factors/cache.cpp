// L2 state. Intervention: operands evicted before each launch, the lines there clean or modified, or the
// inputs just written by another kernel. Signature: a step in time with the clock as it was. Confused with:
// the power that eviction draws, which the clock shows.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor cache(const FactorContext& context) {
  Factor factor{.id = "cache",
                .cause = "operands that are not in the cache",
                .usual = "warm",
                .doses = {{"cold", [](Treatment& treatment) { treatment.cache = CacheState::cold; }}},
                .remedy = "Time in the cache state that the program has (--cache warm, cold or produced).",
                .shows_in_counters = true};
  if (!context.is_callable) {
    factor.doses.push_back(
        {"produced", [](Treatment& treatment) { treatment.cache = CacheState::produced; }});
  }
  factor.doses.push_back(
      {"cold, lines modified", [](Treatment& treatment) { treatment.cache = CacheState::dirty; }});
  return factor;
}

}  // namespace jitterscope::explain::factors
