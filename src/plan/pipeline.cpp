#include "plan/pipeline.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {
namespace {

// Megatron-LM's order: groups of as many micro-batches as there are stages go through all chunks.
Pass interleaved_pass(const Pipeline& pipeline, std::int64_t stages, std::int64_t number, bool is_forward) {
  const std::int64_t group = stages * pipeline.chunks;
  const std::int64_t chunk = number % group / stages;
  return {is_forward, is_forward ? chunk : pipeline.chunks - 1 - chunk,
          number / group * stages + number % stages};
}

std::int64_t warm_up(const Pipeline& pipeline, std::int64_t stages, std::int64_t stage) {
  const std::int64_t all = pipeline.micro_batches * pipeline.chunks;
  switch (pipeline.schedule) {
    case Schedule::in_turn: return 0;
    case Schedule::gpipe: return all;
    case Schedule::one_f_one_b: return std::min(all, stages - 1 - stage);
    case Schedule::interleaved:
      // With as many micro-batches as stages nothing can go back before all are in.
      if (pipeline.micro_batches == stages) return all;
      return std::min(all, 2 * (stages - 1 - stage) + (pipeline.chunks - 1) * stages);
  }
  return 0;
}

}  // namespace

double bubble_over_computing(const Pipeline& pipeline, std::int64_t ranks) {
  const auto others = static_cast<double>(ranks - 1);
  if (pipeline.schedule == Schedule::in_turn) return others;
  return others / static_cast<double>(pipeline.micro_batches * pipeline.chunks);
}

void check_passes(const Pipeline& pipeline, std::int64_t stages) {
  if (pipeline.chunks > 1 && pipeline.micro_batches % stages != 0)
    throw UsageError(fmt::format(
        "an interleaved pipeline takes a multiple of its {} stages as micro-batches, not {}; choose "
        "another number",
        stages, pipeline.micro_batches));
}

std::vector<Pass> passes_of(const Pipeline& pipeline, std::int64_t stages, std::int64_t stage) {
  check_passes(pipeline, stages);
  const std::int64_t all = pipeline.micro_batches * pipeline.chunks, ahead = warm_up(pipeline, stages, stage);
  const auto pass = [&](std::int64_t number, bool is_forward) {
    if (pipeline.chunks > 1) return interleaved_pass(pipeline, stages, number, is_forward);
    return Pass{is_forward, 0, number};
  };
  std::vector<Pass> passes;
  passes.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t i = 0; i < ahead; ++i) passes.push_back(pass(i, true));
  for (std::int64_t i = ahead; i < all; ++i) {
    passes.push_back(pass(i, true));
    passes.push_back(pass(i - ahead, false));
  }
  for (std::int64_t i = all - ahead; i < all; ++i) passes.push_back(pass(i, false));
  return passes;
}

std::vector<std::int64_t> alive_micro_batches(const Pipeline& pipeline, std::int64_t stages,
                                              std::int64_t stage) {
  // The moment at which most are alive over all chunks decides.
  std::vector<std::int64_t> alive(static_cast<std::size_t>(pipeline.chunks), 0), most = alive;
  std::int64_t sum = 0, largest = 0;
  for (const Pass& pass : passes_of(pipeline, stages, stage)) {
    const std::int64_t change = pass.is_forward ? 1 : -1;
    alive[static_cast<std::size_t>(pass.chunk)] += change;
    sum += change;
    if (sum <= largest) continue;
    largest = sum;
    most = alive;
  }
  return most;
}

namespace {

class PipelineStep {
 public:
  PipelineStep(std::span<const StageCosts> stages, const RankGrid& grid, const Pipeline& pipeline,
               const DataParallel& way, bool by_sequence, const Surroundings& around,
               std::span<const SlowRank> slow)
      : stages_(stages),
        grid_(grid),
        pipeline_(pipeline),
        way_(way),
        by_sequence_(by_sequence),
        around_(around),
        classes_(classes_of(grid, slow)),
        parts_(place_of_group(grid.tensor, 1, around.gpus_per_host)) {
    plan_.classes = classes_.classes;
    plan_.tax = around.tax;
  }

  StepPlan built() && {
    last_backward_.assign(static_cast<std::size_t>(pipeline_.chunks),
                          std::vector(classes_.classes.size(), kNone));
    for (std::size_t c = 0; c < classes_.classes.size(); ++c) add_class(c);
    if (way_.exchange != GradientExchange::none) exchange_gradients();
    return std::move(plan_);
  }

 private:
  enum class Way { forward, backward, parts_forward, parts_backward };

  // The meeting of this pass that several classes join, each when its turn comes.
  std::size_t meeting(Way way, std::size_t of, std::size_t stage, std::int64_t micro_batch, Nanoseconds time,
                      const std::vector<Transfer>& transfers) {
    const auto key =
        ((static_cast<std::uint64_t>(way) * classes_.classes.size() + of) * (stages_.size() + 1) + stage) *
            static_cast<std::uint64_t>(pipeline_.micro_batches) +
        static_cast<std::uint64_t>(micro_batch);
    const auto [found, is_new] = meetings_.try_emplace(key, 0);
    if (is_new) found->second = plan_.add_meeting(time, transfers);
    return found->second;
  }

  // A send to the stage behind `stage`; the last one's goes to the first rank, if it is interleaved.
  Nanoseconds send_time(std::size_t stage) const {
    const std::int64_t ranks = grid_.data * grid_.tensor;
    const auto from = static_cast<std::int64_t>(stage) % grid_.pipeline, to = (from + 1) % grid_.pipeline;
    if (from == to) return {};
    const bool crosses = from * ranks / around_.gpus_per_host != to * ranks / around_.gpus_per_host;
    return around_.transfers.time(Exchange::send, stages_[stage].output, {2, crosses ? 2 : 1});
  }

  // Joins a send or a receive. A transfer that takes no time still orders the stages.
  NodeId join(Work work, Way way, std::size_t sender, std::size_t boundary, const Pass& pass, Node node) {
    const bool is_send = work == Work::send;
    node.work = work;
    if (way == Way::forward) {
      node.stream = is_send ? kSendStream : kReceiveStream;
    } else {
      node.stream = is_send ? kSendBackStream : kReceiveBackStream;
    }
    node.name = fmt::format("{} {}", is_send ? "send" : "receive", pass.micro_batch);
    return plan_.join(meeting(way, sender, boundary, pass.micro_batch, send_time(boundary),
                              {{Exchange::send, stages_[boundary].output}}),
                      std::move(node));
  }

  void add_class(std::size_t c) {
    NodeId sent = kNone, computed = kNone;
    const auto stage = static_cast<std::int64_t>(classes_.stages[c]);
    for (const Pass& pass : passes_of(pipeline_, grid_.pipeline, stage)) {
      const auto virtual_stage = static_cast<std::size_t>(pass.chunk * grid_.pipeline + stage);
      const StageCosts& costs = stages_[virtual_stage];
      const bool is_first = virtual_stage == 0, is_last = virtual_stage + 1 == stages_.size();
      Node node{.work = Work::compute,
                .phase = pass.is_forward ? Phase::forward : Phase::backward,
                .rank_class = c,
                .cost = pass.is_forward ? costs.forward.time : costs.backward.time,
                .launch = pass.is_forward ? costs.forward_launch : costs.backward_launch,
                .name = fmt::format("{} {}", pass.is_forward ? "forward" : "backward", pass.micro_batch),
                .layers = costs.layers,
                .micro_batch = pass.micro_batch};
      const Way way = pass.is_forward ? Way::forward : Way::backward;
      const std::size_t incoming = pass.is_forward ? virtual_stage - 1 : virtual_stage;
      const std::size_t outgoing = pass.is_forward ? virtual_stage : virtual_stage - 1;
      if (!(pass.is_forward ? is_first : is_last)) {
        const std::size_t sender = pass.is_forward ? classes_.previous[c] : classes_.next[c];
        node.after.push_back(join(Work::receive, way, sender, incoming, pass, {.rank_class = c}));
      }
      if (sent != kNone && pipeline_.sends_block) node.after.push_back(sent);
      computed = plan_.add(std::move(node));
      computed = reduce(c, virtual_stage, pass, computed);
      if (!pass.is_forward) last_backward_[static_cast<std::size_t>(pass.chunk)][c] = computed;
      if (!(pass.is_forward ? is_last : is_first))
        sent = join(Work::send, way, c, outgoing, pass, {.rank_class = c, .after = {computed}});
    }
  }

  // The all-reduces of a pass between the parts of its layers, as one.
  NodeId reduce(std::size_t c, std::size_t stage, const Pass& pass, NodeId computed) {
    std::vector<Transfer> transfers;
    for (const Bytes bytes :
         pass.is_forward ? stages_[stage].reduced_forward : stages_[stage].reduced_backward) {
      for (const Transfer& each : reduction_of(bytes, by_sequence_)) transfers.push_back(each);
    }
    if (by_sequence_) {
      const StageCosts& costs = stages_[stage];
      transfers.push_back(
          {Exchange::all_gather, pass.is_forward ? costs.gathered_forward : costs.gathered_backward});
      if (!pass.is_forward && pass.micro_batch + 1 == pipeline_.micro_batches)
        transfers.push_back({Exchange::all_reduce, costs.weights_by_sequence});
    }
    const Nanoseconds time = around_.transfers.time(transfers, parts_);
    if (time <= Nanoseconds(0)) return computed;
    const Way way = pass.is_forward ? Way::parts_forward : Way::parts_backward;
    const std::size_t group = classes_.tensor_groups[c].front();
    return plan_.join(
        meeting(way, group, stage, pass.micro_batch, time, transfers),
        {.work = Work::collective, .rank_class = c, .after = {computed}, .name = "reduce parts"});
  }

  void exchange_gradients() {
    const GroupPlace replicas = place_of_group(grid_.data, grid_.tensor, around_.gpus_per_host);
    for (std::size_t chunk = last_backward_.size(); chunk-- > 0;) {
      for (std::int64_t stage = 0; stage < grid_.pipeline; ++stage) {
        std::vector<std::size_t> of_stage;
        for (std::size_t c = 0; c < classes_.classes.size(); ++c)
          if (classes_.stages[c] == static_cast<std::size_t>(stage)) of_stage.push_back(c);
        const Bytes weights =
            stages_[chunk * static_cast<std::size_t>(grid_.pipeline) + static_cast<std::size_t>(stage)]
                .weights;
        const bool in_halves =
            way_.sharding != Sharding::none || way_.exchange == GradientExchange::scatter_gather;
        const std::vector<Transfer> reduction = reduction_of(weights, in_halves);
        add_collectives(plan_, classes_.data_groups, of_stage, kExchangeStream,
                        around_.transfers.time(reduction, replicas), reduction, last_backward_[chunk],
                        "exchange gradients");
      }
    }
  }

  std::span<const StageCosts> stages_;
  const RankGrid& grid_;
  const Pipeline& pipeline_;
  const DataParallel& way_;
  bool by_sequence_;
  const Surroundings& around_;
  GridClasses classes_;
  GroupPlace parts_;
  StepPlan plan_;
  std::unordered_map<std::uint64_t, std::size_t> meetings_;
  std::vector<std::vector<NodeId>> last_backward_;  // of each chunk, then class
};

}  // namespace

StepPlan pipeline_step(std::span<const StageCosts> stages, const RankGrid& grid, const Pipeline& pipeline,
                       const DataParallel& way, bool by_sequence, const Surroundings& around,
                       std::span<const SlowRank> slow) {
  return PipelineStep(stages, grid, pipeline, way, by_sequence, around, slow).built();
}

std::vector<std::size_t> meetings_in_order(StepPlan plan) {
  // A network whose layers have no times has an order, too.
  for (Node& node : plan.nodes)
    if (node.work == Work::compute) node.cost = std::max(node.cost, Nanoseconds(1));
  const SimulatedStep simulated = simulate(plan);
  std::vector<std::size_t> order(plan.meetings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t meeting) {
    return simulated.nodes[plan.meetings[meeting].nodes.front()].begin;
  });
  return order;
}

void put_in_order(StepPlan& plan, std::span<const std::size_t> meetings) {
  std::vector<NodeId> last(plan.classes.size(), kNone);
  for (const std::size_t meeting : meetings) {
    for (const NodeId id : plan.meetings[meeting].nodes) {
      NodeId& before = last[plan.nodes[id].rank_class];
      if (before != kNone) plan.nodes[id].after.push_back(before);
      before = id;
    }
  }
}

}  // namespace jitterscope::plan
