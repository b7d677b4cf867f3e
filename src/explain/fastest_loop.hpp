// How fast the loop is with every cause taken away at once: what effects that were measured one by one do not
// tell, since causes act on each other.
#pragma once

#include <optional>
#include <vector>

#include "explain/experiments.hpp"

namespace jitterscope::explain {

/// Of the plain loops beside the doses; nothing for fewer than two blocks.
std::optional<TimeEstimate> plain_level(const PairedEffects& paired);

/// In pairs with the plain loop, for so long. `results` are judged, in the order of the factors. Nothing
/// where no cause makes the loop faster, or where they cannot be taken away together. Of a single one it is
/// what is known already.
std::optional<FastestLoop> find_fastest_loop(TreatedLoop& bench, const FactorList& factors,
                                             const std::vector<FactorResult>& results, Nanoseconds time,
                                             Random& random, const ExperimentListeners& listeners);

}  // namespace jitterscope::explain
