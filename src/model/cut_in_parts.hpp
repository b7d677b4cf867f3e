// A transformer as one of several tensor-parallel ranks runs it: products cut by columns and rows, attention
// by heads.
#pragma once

#include <cstdint>
#include <span>

#include "model/step_costs.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// Returns the same calls in the same order, so that `layers` numbers them, too: of the network's layers as
/// plan::split_in_parts cuts them, each call at 1/ranks. What several ranks sum up before they exchange it
/// has its whole size. `by_sequence`: of the rest of a block each rank has 1/ranks of the rows; a call that
/// reads more than an earlier one has written reads what was gathered, in memory of its own. Throws
/// UsageError for a network without attention, and if a size has no equal part for each rank.
Model cut_in_parts(const Model& model, const StepLayers& layers, std::int64_t ranks, bool by_sequence);

/// Returns the calls of all models as those of one. The calls of a model have numbers behind those of the
/// models before it.
Model one_after_another(std::span<const Model> models);

}  // namespace jitterscope
