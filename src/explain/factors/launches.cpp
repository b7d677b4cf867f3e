// Number of launches: "my kernel is faster after 100 iterations". Intervention: shorter loops behind the same
// idle. Signature: the first launches meet an empty queue, and a clock that still rises.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor launches(const FactorContext& context) {
  Factor factor{.id = "launches",
                .cause = "the number of launches in the loop",
                .usual = "as many as last 5 ms",
                .remedy = "Leave the first launches out, or time many."};
  constexpr Nanoseconds kLongestLoop = seconds(1);
  for (const std::int64_t count : {200, 3, 1}) {
    if (context.launch_time * static_cast<double>(count) > kLongestLoop && count > 1) continue;
    factor.doses.push_back(
        {fmt::format("loop of {}", count), [count](Treatment& treatment) { treatment.launches = count; }});
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
