// Number of launches: "my kernel is faster after 100 iterations". Intervention: shorter loops behind the same
// idle. Signature: the first launches meet an empty queue, and a clock that still rises.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor launches(const FactorContext&) {
  Factor factor{.id = "launches",
                .cause = "the number of launches in the loop",
                .usual = "as many as last 5 ms",
                .remedy = "Leave the first launches out, or time many."};
  for (const std::int64_t count : {200, 3, 1}) {
    factor.doses.push_back(
        {fmt::format("loop of {}", count), [count](Treatment& treatment) { treatment.launches = count; }});
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
