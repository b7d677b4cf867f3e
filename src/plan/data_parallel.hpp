// Steps in which each rank has all layers: replicas that exchange gradients, layers cut in parts, weights
// sharded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/network_costs.hpp"
#include "plan/rank_grid.hpp"
#include "plan/step_plan.hpp"
#include "plan/transfer_costs.hpp"

namespace jitterscope::plan {

enum class GradientExchange {
  none,            ///< replicas drift apart: what computing alone takes
  after_backward,  ///< one all-reduce
  buckets,         ///< all-reduces during backward, as PyTorch's DDP
  scatter_gather,  ///< a reduce-scatter and an all-gather after backward
};

struct Bucket {
  Bytes bytes;
  std::size_t last_layer = 0;  ///< the layer whose backward pass completes it
};
/// Gradients in PyTorch's order, the last layer's first: a bucket is closed by the layer with which it has
/// `size` bytes or more, the first bucket at `first`, so that the first exchange begins early.
std::vector<Bucket> gradient_buckets(const NetworkCosts& network, Bytes size, Bytes first);

inline constexpr std::int64_t kMebi = std::int64_t{1} << 20;
inline constexpr Bytes kDefaultBucket{25 * kMebi}, kFirstBucket{kMebi};

/// Each replica holds shards of this state: the optimizer's (ZeRO 1), gradients too (2),
/// weights too (3).
enum class Sharding { none, optimizer, gradients, parameters };

struct DataParallel {
  GradientExchange exchange = GradientExchange::buckets;
  Bytes bucket = kDefaultBucket, first_bucket = kFirstBucket;
  bool compressed = false;  ///< gradients travel as bf16
  std::int64_t every = 1;   ///< exchanges in every k-th step alone
  Sharding sharding = Sharding::none;
};

/// Throws UsageError for ways that exclude each other.
void check_way(const DataParallel& way);

/// The cost of the network's exchanges, and the places of its ranks.
struct Surroundings {
  const TransferCosts& transfers;
  std::int64_t gpus_per_host = 8;
  OverlapTax tax = {};
};

/// A step of data · tensor ranks over `micro_batches` each, whose gradients are added up. `network` is
/// already cut in `grid.tensor` parts. Throws UsageError if the grid has stages, or if weights are to be
/// sharded otherwise than in every step.
StepPlan data_parallel_step(const NetworkCosts& network, const RankGrid& grid, std::int64_t micro_batches,
                            const DataParallel& way, bool by_sequence, const Surroundings& around,
                            std::span<const SlowRank> slow = {});

/// The all-reduce of a layer that is cut in parts; in halves: a reduce-scatter, then an all-gather.
std::vector<Transfer> reduction_of(Bytes bytes, bool in_halves);

/// Deals out `samples` so that the slowest rank is done as early as can be: t = max of samples · factor. The
/// result is each rank's number; `factors` are the times of one sample, relative.
std::vector<std::int64_t> samples_by_speed(std::int64_t samples, std::span<const double> factors);
/// The ranks as slow as they are with so many samples each in place of `even` ones.
std::vector<SlowRank> slow_ranks(std::span<const std::int64_t> samples, double even,
                                 std::span<const double> factors);

}  // namespace jitterscope::plan
