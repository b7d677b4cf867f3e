// From differences block by block to effects and verdicts: no device, no clock.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "explain/experiments.hpp"

namespace jitterscope::explain {

/// Of differences of logarithms. Nothing for fewer than two.
std::optional<RatioEstimate> ratio_of_blocks(std::span<const double> differences);

/// Fills doses, verdict, strongest, reason and blocks_to_decide of each factor's result; `results` are in the
/// order of the factors. A cause counts beside all doses of all factors (Holm, 1979). Gives the dose of each
/// factor that its verdict is about; 0 where none was read.
std::vector<std::size_t> judge_factors(const FactorList& factors, const PairedEffects& paired,
                                       std::vector<FactorResult>& results);

}  // namespace jitterscope::explain
