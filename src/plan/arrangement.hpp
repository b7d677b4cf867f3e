// Ways to arrange a network's step over ranks: what each needs of memory, and its step plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/data_parallel.hpp"
#include "plan/network_costs.hpp"
#include "plan/pipeline.hpp"
#include "plan/rank_grid.hpp"
#include "plan/step_plan.hpp"
#include "plan/transfer_costs.hpp"

namespace jitterscope::plan {

struct Arrangement {
  RankGrid grid;
  DataParallel way = {};
  bool by_sequence = false;  ///< tensor-parallel cuts the rest of a block, too
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t chunks = 1;
  StageCut cut = StageCut::time;
  bool sends_block = false;
  /// Where the network is cut, as cut_into_stages returns it, however its times change; empty: as `cut` says.
  std::vector<std::size_t> first_blocks = {};
};
/// "DP 4 × TP 2 × PP 2, 1F1B, stages by time"
std::string to_text(const Arrangement& arrangement);
std::string_view to_string(Schedule);
std::string_view to_string(StageCut);
std::string_view to_string(Sharding);
std::string_view to_string(GradientExchange);

/// The work that is arranged.
struct Job {
  const NetworkCosts& network;
  Surroundings around;
  std::int64_t micro_batches = 1;  ///< of a step, over all replicas
  Bytes memory = {};               ///< of a GPU; 0: not known
};

/// The peak of one rank, in the stage that needs most.
struct PeakMemory {
  Bytes weights, gradients, optimizer, activations;
  Bytes sum() const { return weights + gradients + optimizer + activations; }
};
/// "0.88 GB", "104 GB"
std::string memory_text(Bytes bytes);
/// Returns the memory of weights of so many bytes, with gradients and optimizer, if `replicas` share them.
PeakMemory state_of(Bytes weights, const NetworkCosts& network, Sharding sharding, std::int64_t replicas);
PeakMemory memory_of(const Job& job, const Arrangement& arrangement);
bool fits(const Job& job, const PeakMemory& memory);

/// Bytes that a replica sends and gets in a step for its gradients and weights, as a sum over collectives.
struct ShardingTraffic {
  Bytes all_reduced, reduce_scattered, all_gathered;
};
ShardingTraffic traffic_of(Bytes weights, Sharding sharding, std::int64_t micro_batches);

/// Returns the step plan. Throws UsageError if the arrangement is impossible, and says why: micro-batches
/// that have no equal part for each replica, more stages than blocks, heads that cannot be dealt out.
StepPlan step_of(const Job& job, const Arrangement& arrangement, std::span<const SlowRank> slow = {});
/// Returns why the arrangement is impossible; empty if it is possible.
std::string problem_of(const Job& job, const Arrangement& arrangement);

}  // namespace jitterscope::plan
