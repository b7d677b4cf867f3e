// L2 state, graded. Intervention: another kernel moves a part of the cache's size before each launch, as a
// neighbouring layer does. Signature: grows with the bytes until the cache's size is reached.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor traffic(const FactorContext& context) {
  Factor factor{.id = "traffic",
                .cause = "other kernels' data in the cache",
                .usual = "nothing between launches",
                .doses_grow = true,
                .remedy =
                    "Time the layer where it runs (--in-sequence), or let launches that share data "
                    "follow each other.",
                .shows_in_counters = true};
  const auto size = static_cast<double>(context.device.last_level_cache.value());
  for (const double share : {0.25, 0.5, 1.0}) {
    const Bytes bytes(static_cast<std::int64_t>(share * size));
    factor.doses.push_back({fmt::format("copy of {:g} caches", share),
                            [bytes](Treatment& treatment) { treatment.traffic = bytes; }});
  }
  if (!(size > 0.0)) factor.not_available = "the size of the last-level cache is not known";
  return factor;
}

}  // namespace jitterscope::explain::factors
