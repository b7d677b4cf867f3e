#include "model/native_step.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

CollectiveKind kind_of(plan::Exchange exchange) {
  switch (exchange) {
    case plan::Exchange::all_reduce: return CollectiveKind::all_reduce;
    case plan::Exchange::reduce_scatter: return CollectiveKind::reduce_scatter;
    case plan::Exchange::all_gather: return CollectiveKind::all_gather;
    case plan::Exchange::send: break;
  }
  throw UsageError("a rank that sends to one other has no operation yet; leave the pipeline out");
}

class Translation {
 public:
  Translation(const Model& model, const StepLayers& layers, const plan::StepPlan& plan,
              std::size_t rank_class, std::int64_t ranks, const std::string& name)
      : layers_(layers), plan_(plan), rank_class_(rank_class), ranks_(ranks) {
    step_.name = name;
    step_.network = model;
    for (const plan::Node& node : plan.nodes) step_.passes = std::max(step_.passes, node.micro_batch + 1);
  }

  ParallelStep made() && {
    for (plan::NodeId id = 0; id < plan_.nodes.size(); ++id) {
      const plan::Node& node = plan_.nodes[id];
      if (node.rank_class != rank_class_) continue;
      if (node.meeting != plan::kNone) {
        add_exchange(id, node);
      } else {
        compute(id, node);
      }
    }
    std::ranges::stable_sort(step_.exchanges, {}, &StepExchange::after);
    return std::move(step_);
  }

 private:
  void compute(plan::NodeId id, const plan::Node& node) {
    if (node.layers.begin == node.layers.end)
      throw UsageError(fmt::format("{}: \"{}\" is no part of the network; leave the compression out",
                                   step_.name, node.name));
    const std::size_t pass = step_.network.calls.size() * static_cast<std::size_t>(node.micro_batch);
    std::size_t first = step_.network.calls.size();
    for (std::size_t l = node.layers.begin; l < node.layers.end; ++l) {
      const LayerCalls& calls = layers_.calls[l];
      for (const std::size_t c : node.phase == plan::Phase::forward ? calls.forward : calls.backward) {
        first = std::min(first, c);
        computed_ = std::max(computed_, pass + c + 1);
      }
    }
    ended_[id] = computed_;
    std::vector<std::size_t> awaited;
    for (const plan::NodeId before : node.after) {
      const auto exchanges = awaited_.find(before);
      if (exchanges != awaited_.end())
        awaited.insert(awaited.end(), exchanges->second.begin(), exchanges->second.end());
    }
    // A layer may have no call in one direction: what it waits for, the next one waits for.
    if (first == step_.network.calls.size()) {
      awaited_[id] = std::move(awaited);
      return;
    }
    for (const std::size_t exchange : awaited) {
      StepExchange& waited_for = step_.exchanges[exchange];
      waited_for.before = std::min(waited_for.before, std::max(waited_for.after, pass + first));
    }
  }

  void add_exchange(plan::NodeId id, const plan::Node& node) {
    std::size_t after = 0;
    for (const plan::NodeId before : node.after) after = std::max(after, ended_[before]);
    for (const plan::Transfer& transfer : plan_.meetings[node.meeting].transfers) {
      awaited_[id].push_back(step_.exchanges.size());
      step_.exchanges.push_back({native_exchange(transfer, ranks_, layers_.gradients), after, step_.calls()});
    }
    ended_[id] = after;
  }

  const StepLayers& layers_;
  const plan::StepPlan& plan_;
  std::size_t rank_class_;
  std::int64_t ranks_;
  ParallelStep step_;
  std::size_t computed_ = 0;                   // calls that have been launched
  std::map<plan::NodeId, std::size_t> ended_;  // calls that must have ended for the node to have
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
