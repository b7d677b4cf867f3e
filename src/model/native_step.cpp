#include "model/native_step.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "jitterscope/error.hpp"
#include "plan/pipeline.hpp"

namespace jitterscope {
namespace {

CollectiveKind kind_of(plan::Exchange exchange) {
  switch (exchange) {
    case plan::Exchange::all_reduce: return CollectiveKind::all_reduce;
    case plan::Exchange::reduce_scatter: return CollectiveKind::reduce_scatter;
    case plan::Exchange::all_gather: return CollectiveKind::all_gather;
    case plan::Exchange::send: return CollectiveKind::send;
  }
  throw std::logic_error("an exchange without a collective");
}

class Translation {
 public:
  Translation(const Model& model, const StepLayers& layers, const plan::StepPlan& plan,
              std::size_t rank_class, std::int64_t ranks, const std::string& name)
      : layers_(layers),
        plan_(plan),
        rank_class_(rank_class),
        ranks_(ranks),
        sends_(
            std::ranges::any_of(plan.nodes, [](const auto& node) { return node.work == plan::Work::send; })) {
    step_.name = name;
    step_.network = model;
    std::int64_t passes = 1;
    for (const plan::Node& node : plan.nodes) passes = std::max(passes, node.micro_batch + 1);
    if (!sends_ && passes > 1) step_.order.assign(static_cast<std::size_t>(passes), {0, model.calls.size()});
  }

  ParallelStep made() && {
    for_own_nodes(false, [&](plan::NodeId id, const plan::Node& node) { place(id, node); });
    if (sends_) {
      for (const std::size_t meeting : plan::meetings_in_order(plan_)) add_meeting(meeting);
    } else {
      for_own_nodes(true, [&](plan::NodeId id, const plan::Node& node) { add_exchange(id, node); });
    }
    for_own_nodes(false, [&](plan::NodeId id, const plan::Node& node) { await(id, node); });
    std::ranges::stable_sort(step_.exchanges, {}, &StepExchange::after);
    return std::move(step_);
  }

 private:
  // Launches, from `first` to before `end`.
  struct Launches {
    std::size_t first = 0, end = 0;
  };

  void for_own_nodes(bool are_meetings, const auto& visit) const {
    for (plan::NodeId id = 0; id < plan_.nodes.size(); ++id) {
      const plan::Node& node = plan_.nodes[id];
      if (node.rank_class == rank_class_ && (node.meeting != plan::kNone) == are_meetings) visit(id, node);
    }
  }

  void place(plan::NodeId id, const plan::Node& node) {
    if (node.layers.begin == node.layers.end)
      throw UsageError(fmt::format("{}: \"{}\" is no part of the network; leave the compression out",
                                   step_.name, node.name));
    std::vector<std::size_t> own;
    for (std::size_t l = node.layers.begin; l < node.layers.end; ++l) {
      const LayerCalls& calls = layers_.calls[l];
      const auto& of_phase = node.phase == plan::Phase::forward ? calls.forward : calls.backward;
      own.insert(own.end(), of_phase.begin(), of_phase.end());
    }
    std::ranges::sort(own);
    const Launches launches = sends_ ? launched_next(own) : launched_in_pass(own, node.micro_batch);
    placed_[id] = launches;
    computed_ = std::max(computed_, launches.end);
    ended_[id] = computed_;
  }

  // Returns where these calls stand in a pass, which keeps the network's order.
  Launches launched_in_pass(const std::vector<std::size_t>& calls, std::int64_t pass) const {
    if (calls.empty()) return {};
    const std::size_t before = step_.network.calls.size() * static_cast<std::size_t>(pass);
    return {before + calls.front(), before + calls.back() + 1};
  }

  Launches launched_next(const std::vector<std::size_t>& calls) {
    for (const std::size_t call : calls) {
      if (!step_.order.empty() && call == step_.order.back().end) {
        ++step_.order.back().end;
      } else {
        step_.order.push_back({call, call + 1});
      }
    }
    return {computed_, computed_ + calls.size()};
  }

  void add_exchange(plan::NodeId id, const plan::Node& node) {
    const std::size_t after = end_of(node.after);
    for (const plan::Transfer& transfer : plan_.meetings[node.meeting].transfers) {
      awaited_[id].push_back(step_.exchanges.size());
      step_.exchanges.push_back(
          {native_exchange(transfer, ranks_, layers_.gradients), after, step_.launches()});
    }
    ended_[id] = after;
  }

  // A send of this rank, to it, or between two others.
  void add_meeting(std::size_t number) {
    const plan::Meeting& meeting = plan_.meetings[number];
    std::int64_t from = 0, to = 0;
    for (const plan::NodeId id : meeting.nodes) {
      const plan::Node& node = plan_.nodes[id];
      const plan::RankClass& of = plan_.classes[node.rank_class];
      if (node.work == plan::Work::collective || of.ranks != 1)
        throw UsageError(
            fmt::format("{}: \"{}\" is between some of the ranks; leave replicas and parts out of "
                        "the pipeline",
                        step_.name, node.name));
      (node.work == plan::Work::send ? from : to) = of.first_rank;
      if (node.rank_class != rank_class_) continue;
      exchanged_ = std::max(exchanged_, end_of(node.after));
      awaited_[id].push_back(step_.exchanges.size());
      ended_[id] = exchanged_;
    }
    Operation::Parameters send =
        native_exchange(meeting.transfers.front(), ranks_, layers_.gradients).parameters();
    std::get<Collective>(send).root = from;
    std::get<Collective>(send).to = to;
    step_.exchanges.push_back({Operation(std::move(send)), exchanged_, step_.launches()});
  }

  void await(plan::NodeId id, const plan::Node& node) {
    std::vector<std::size_t> awaited;
    for (const plan::NodeId before : node.after) {
      const auto exchanges = awaited_.find(before);
      if (exchanges != awaited_.end())
        awaited.insert(awaited.end(), exchanges->second.begin(), exchanges->second.end());
    }
    const Launches& own = placed_[id];
    // A layer may have no call in one direction: what it waits for, the next one waits for.
    if (own.first == own.end) {
      awaited_[id] = std::move(awaited);
      return;
    }
    for (const std::size_t exchange : awaited) {
      StepExchange& waited_for = step_.exchanges[exchange];
      waited_for.before = std::min(waited_for.before, std::max(waited_for.after, own.first));
    }
  }

  std::size_t end_of(const std::vector<plan::NodeId>& nodes) const {
    std::size_t end = 0;
    for (const plan::NodeId node : nodes) end = std::max(end, ended_.at(node));
    return end;
  }

  const StepLayers& layers_;
  const plan::StepPlan& plan_;
  std::size_t rank_class_;
  std::int64_t ranks_;
  bool sends_;
  ParallelStep step_;
  std::size_t computed_ = 0, exchanged_ = 0;  // launches before the next calls, and the next send
  std::map<plan::NodeId, Launches> placed_;
  std::map<plan::NodeId, std::size_t> ended_;  // launches that must have ended for the node to have
  std::map<plan::NodeId, std::vector<std::size_t>> awaited_;  // exchanges that end before it has ended
};

}  // namespace

Operation native_exchange(const plan::Transfer& transfer, std::int64_t ranks, DataType dtype) {
  return Operation(Collective{.kind = kind_of(transfer.exchange),
                              .count = round_up(transfer.bytes.value() / element_size(dtype).value(), ranks),
                              .dtype = dtype,
                              .in_place = true,
                              .ranks = ranks});
}

ParallelStep native_step(const Model& model, const StepLayers& layers, const plan::StepPlan& plan,
                         std::size_t rank_class, std::int64_t ranks, const std::string& name) {
  ParallelStep step = Translation(model, layers, plan, rank_class, ranks, name).made();
  check_step(step);
  return step;
}

}  // namespace jitterscope
