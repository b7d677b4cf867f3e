// A step plan as operations: the calls of a network and the collectives that a rank launches.
#pragma once

#include <cstdint>
#include <string>

#include "model/step_costs.hpp"
#include "operation/parallel_step.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope {

/// Returns a transfer among so many ranks as an operation, in place; elements without an equal part for each
/// rank are padded. A send is from rank 0 to rank 1.
Operation native_exchange(const plan::Transfer& transfer, std::int64_t ranks, DataType dtype);

/// Returns what a rank of the plan's class `rank_class` runs, of `ranks` that exchange with each other. If
/// the plan cuts layers, `model` is cut so, too (cut_in_parts). Calls keep the network's order, so an
/// exchange begins once all calls of its layers have ended. Sums are in place.
///
/// Of a pipeline, whose classes are single ranks, the calls are those of the rank's stages, in the order of
/// its passes; `model` is that of one micro-batch. Sends are launched by all ranks in one order, by which
/// they begin as planned, so that none waits for one behind another. What is received has memory of its own.
///
/// Throws UsageError for a plan that converts what it exchanges, or in which only some ranks exchange what is
/// no send.
ParallelStep native_step(const Model& model, const StepLayers& layers, const plan::StepPlan& plan,
                         std::size_t rank_class, std::int64_t ranks, const std::string& name);

}  // namespace jitterscope
