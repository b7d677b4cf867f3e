// Turns differences block by block into effects and verdicts, without a device or a clock.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "explain/experiments.hpp"

namespace jitterscope::explain {

/// Takes differences of logarithms. nullopt for fewer than two.
std::optional<RatioEstimate> ratio_of_blocks(std::span<const double> differences);

/// Fills doses, verdict, strongest, reason and blocks_to_decide of each result; `results` are in the order of
/// the factors. A cause must hold beside all doses of all factors (Holm, 1979). Returns for each factor the
/// dose that its verdict is about; 0 if none was read.
std::vector<std::size_t> judge_factors(const FactorList& factors, const PairedEffects& paired,
                                       std::vector<FactorResult>& results);

}  // namespace jitterscope::explain
