// Steps in which each rank has a stage of the network, and micro-batches pass through them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/data_parallel.hpp"
#include "plan/network_costs.hpp"
#include "plan/rank_grid.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope::plan {

enum class Schedule {
  in_turn,      ///< a micro-batch goes forward and back before the next begins: nothing overlaps
  gpipe,        ///< all forward, then all back
  one_f_one_b,  ///< one back after each forward, as soon as that can be
  interleaved,  ///< the same, and each rank has several stages apart from each other
};

struct Pipeline {
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t chunks = 1;  ///< stages of each rank; more than 1 if interleaved
  std::int64_t micro_batches = 1;
  bool sends_block = false;  ///< a rank computes nothing until what it sends is received
};

/// One pass of a micro-batch through a chunk.
struct Pass {
  bool is_forward = true;
  std::int64_t chunk = 0, micro_batch = 0;
};
/// How long a rank of equal stages idles while the pipeline fills and empties, over what it computes: with p
/// ranks and m micro-batches (p - 1) / m, over the number of chunks if it is interleaved; p - 1 in turn.
/// Sends take no time here.
double bubble_over_computing(const Pipeline& pipeline, std::int64_t ranks);
/// Throws UsageError for interleaved micro-batches that are no multiple of the stages.
void check_passes(const Pipeline& pipeline, std::int64_t stages);
/// The order in which a stage computes. Throws as check_passes.
std::vector<Pass> passes_of(const Pipeline& pipeline, std::int64_t stages, std::int64_t stage);
/// The largest number of micro-batches of each chunk that are alive at once: forward is done, backward is
/// not.
std::vector<std::int64_t> alive_micro_batches(const Pipeline& pipeline, std::int64_t stages,
                                              std::int64_t stage);

/// A step over a grid. `stages` are grid.pipeline · chunks; rank r of the pipeline has r, r + grid.pipeline
/// and so on. Replicas exchange the gradients of each chunk after its last backward pass (unless `exchange`
/// is none).
StepPlan pipeline_step(std::span<const StageCosts> stages, const RankGrid& grid, const Pipeline& pipeline,
                       const DataParallel& way, bool by_sequence, const Surroundings& around,
                       std::span<const SlowRank> slow = {});

/// Returns the meetings by the time at which they begin: one order in which no rank waits for a meeting
/// behind another one, whichever it takes part in.
std::vector<std::size_t> meetings_in_order(StepPlan plan);
/// Makes each rank's sends and receives wait for those before them in this order, as those of one
/// communicator do.
void put_in_order(StepPlan& plan, std::span<const std::size_t> meetings);

}  // namespace jitterscope::plan
