#include "plan/arrangement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {

std::string_view to_string(Schedule schedule) {
  switch (schedule) {
    case Schedule::in_turn: return "in turn";
    case Schedule::gpipe: return "GPipe";
    case Schedule::one_f_one_b: return "1F1B";
    case Schedule::interleaved: return "interleaved";
  }
  return "";
}

std::string_view to_string(StageCut cut) {
  switch (cut) {
    case StageCut::layers: return "layers";
    case StageCut::time: return "time";
    case StageCut::memory: return "memory";
  }
  return "";
}

std::string_view to_string(Sharding sharding) {
  switch (sharding) {
    case Sharding::none: return "replicated";
    case Sharding::optimizer: return "ZeRO 1";
    case Sharding::gradients: return "ZeRO 2";
    case Sharding::parameters: return "ZeRO 3";
  }
  return "";
}

std::string_view to_string(GradientExchange exchange) {
  switch (exchange) {
    case GradientExchange::none: return "no exchange";
    case GradientExchange::after_backward: return "all-reduce after backward";
    case GradientExchange::buckets: return "buckets";
    case GradientExchange::scatter_gather: return "reduce-scatter + all-gather";
  }
  return "";
}

namespace {

std::string exchange_text(const DataParallel& way) {
  std::string text;
  if (way.sharding != Sharding::none) {
    text = std::string(to_string(way.sharding));
  } else if (way.exchange == GradientExchange::buckets) {
    text = fmt::format("buckets of {} MiB", way.bucket.value() / kMebi);
  } else {
    text = std::string(to_string(way.exchange));
  }
  if (way.compressed) text += " in bf16";
  if (way.every > 1) text += fmt::format(", every {} steps", way.every);
  return text;
}

}  // namespace

std::string to_text(const Arrangement& arrangement) {
  const RankGrid& grid = arrangement.grid;
  std::vector<std::string> parts;
  if (grid.data > 1) parts.push_back(fmt::format("DP {}", grid.data));
  if (grid.tensor > 1) parts.push_back(fmt::format("TP {}", grid.tensor));
  if (grid.pipeline > 1) parts.push_back(fmt::format("PP {}", grid.pipeline));
  if (parts.empty()) return "one GPU";
  std::string text = fmt::format("{}", fmt::join(parts, " × "));
  if (arrangement.by_sequence && grid.tensor > 1) text += ", sequence parallel";
  if (grid.pipeline > 1) {
    text += fmt::format(", {}", to_string(arrangement.schedule));
    if (arrangement.chunks > 1) text += fmt::format(" × {}", arrangement.chunks);
    if (arrangement.cut != StageCut::time) text += fmt::format(", cut by {}", to_string(arrangement.cut));
    if (arrangement.sends_block) text += ", sends block";
    if (grid.data > 1 && arrangement.way.sharding != Sharding::none)
      text += ", " + exchange_text(arrangement.way);
  } else if (grid.data > 1) {
    text += ", " + exchange_text(arrangement.way);
  }
  return text;
}

namespace {

std::int64_t micro_batches_of_replica(const Job& job, const RankGrid& grid) {
  if (job.micro_batches % grid.data != 0)
    throw UsageError(
        fmt::format("{} micro-batches have no equal part for each of {} replicas; take a multiple",
                    job.micro_batches, grid.data));
  return job.micro_batches / grid.data;
}

struct Parts {
  NetworkCosts network;  // of one tensor-parallel rank
  std::int64_t micro_batches = 1;
  std::vector<StageCosts> stages = {};
  Pipeline pipeline = {};
};

Parts parts_of(const Job& job, const Arrangement& arrangement) {
  const RankGrid& grid = arrangement.grid;
  Parts parts{.network = split_in_parts(job.network, grid.tensor, arrangement.by_sequence),
              .micro_batches = micro_batches_of_replica(job, grid)};
  if (grid.pipeline == 1) return parts;
  const bool interleaves = arrangement.schedule == Schedule::interleaved;
  if (interleaves != (arrangement.chunks > 1))
    throw UsageError("an interleaved pipeline has 2 stages a rank or more, and no other has");
  const auto stages = static_cast<std::size_t>(grid.pipeline * arrangement.chunks);
  parts.stages = stages_of(parts.network, arrangement.first_blocks.empty()
                                              ? cut_into_stages(parts.network, stages, arrangement.cut)
                                              : arrangement.first_blocks);
  parts.pipeline = {.schedule = arrangement.schedule,
                    .chunks = arrangement.chunks,
                    .micro_batches = parts.micro_batches,
                    .sends_block = arrangement.sends_block};
  if (arrangement.way.every > 1)
    throw UsageError("an exchange in every k-th step is planned for replicas of the whole network alone");
  if (arrangement.way.sharding == Sharding::gradients || arrangement.way.sharding == Sharding::parameters)
    throw UsageError("in a pipeline the optimizer's state alone is sharded (ZeRO 1)");
  return parts;
}

// Micro-batches beyond those that fill the pipeline keep no more alive, unless all go forward first.
std::vector<std::int64_t> alive_of(Pipeline pipeline, std::int64_t stages, std::int64_t stage) {
  if (pipeline.schedule == Schedule::gpipe) return {pipeline.micro_batches};
  constexpr std::int64_t kFull = 4;
  if (pipeline.micro_batches > (kFull + 1) * stages)
    pipeline.micro_batches = kFull * stages + pipeline.micro_batches % stages;
  return alive_micro_batches(pipeline, stages, stage);
}

Bytes shared(Bytes bytes, std::int64_t ranks) { return Bytes((bytes.value() + ranks - 1) / ranks); }

}  // namespace

std::string memory_text(Bytes bytes) {
  constexpr double kGiga = 1e9;
  const double giga = static_cast<double>(bytes.value()) / kGiga;
  return giga < 10 ? fmt::format("{:.2g} GB", giga) : fmt::format("{:.0f} GB", giga);
}

PeakMemory state_of(Bytes weights, const NetworkCosts& network, Sharding sharding, std::int64_t replicas) {
  const Bytes optimizer(weights.value() / network.element_bytes * network.optimizer_bytes);
  PeakMemory memory{weights, weights, optimizer, {}};
  if (sharding == Sharding::none) return memory;
  memory.optimizer = shared(memory.optimizer, replicas);
  if (sharding == Sharding::optimizer) return memory;
  memory.gradients = shared(memory.gradients, replicas);
  if (sharding == Sharding::parameters) memory.weights = shared(memory.weights, replicas);
  return memory;
}

PeakMemory memory_of(const Job& job, const Arrangement& arrangement) {
  const Parts parts = parts_of(job, arrangement);
  const RankGrid& grid = arrangement.grid;
  const DataParallel& way = arrangement.way;
  if (grid.pipeline == 1) {
    PeakMemory memory = state_of(weights_of(parts.network), parts.network, way.sharding, grid.data);
    std::vector<Bytes> blocks(parts.network.blocks());
    for (const LayerCosts& layer : parts.network.layers) {
      memory.activations += layer.activations;
      blocks[layer.block] += layer.weights;
    }
    if (way.sharding == Sharding::gradients && !blocks.empty())
      memory.gradients += way.bucket;  // one bucket is whole until it is reduced
    if (way.sharding == Sharding::parameters && !blocks.empty()) {
      // Two blocks are gathered at once; their gradients, one of them.
      const Bytes largest = *std::ranges::max_element(blocks);
      memory.weights += largest + largest;
      memory.gradients += largest;
    }
    return memory;
  }
  PeakMemory most;
  for (std::int64_t stage = 0; stage < grid.pipeline; ++stage) {
    const std::vector<std::int64_t> alive = alive_of(parts.pipeline, grid.pipeline, stage);
    Bytes weights, activations;
    for (std::size_t chunk = 0; chunk < alive.size(); ++chunk) {
      const StageCosts& costs =
          parts.stages[chunk * static_cast<std::size_t>(grid.pipeline) + static_cast<std::size_t>(stage)];
      weights += costs.weights;
      activations += costs.activations * alive[chunk];
    }
    PeakMemory memory = state_of(weights, parts.network, way.sharding, grid.data);
    memory.activations = activations;
    if (memory.sum() > most.sum()) most = memory;
  }
  return most;
}

bool fits(const Job& job, const PeakMemory& memory) {
  return job.memory.value() == 0 || memory.sum() <= job.memory;
}

ShardingTraffic traffic_of(Bytes weights, Sharding sharding, std::int64_t micro_batches) {
  switch (sharding) {
    case Sharding::none: return {weights, {}, {}};
    case Sharding::optimizer:
    case Sharding::gradients: return {{}, weights, weights};
    case Sharding::parameters:  // forward and backward each gather all weights
      return {{}, weights * micro_batches, weights * (2 * micro_batches)};
  }
  return {};
}

StepPlan step_of(const Job& job, const Arrangement& arrangement, std::span<const SlowRank> slow) {
  const Parts parts = parts_of(job, arrangement);
  if (arrangement.grid.pipeline == 1)
    return data_parallel_step(parts.network, arrangement.grid, parts.micro_batches, arrangement.way,
                              arrangement.by_sequence, job.around, slow);
  return pipeline_step(parts.stages, arrangement.grid, parts.pipeline, arrangement.way,
                       arrangement.by_sequence, job.around, slow);
}

std::string problem_of(const Job& job, const Arrangement& arrangement) {
  try {
    const Parts parts = parts_of(job, arrangement);
    if (arrangement.grid.pipeline > 1) check_passes(parts.pipeline, arrangement.grid.pipeline);
    if (arrangement.grid.pipeline == 1) check_way(arrangement.way);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace jitterscope::plan
