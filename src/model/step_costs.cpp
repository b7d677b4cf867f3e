#include "model/step_costs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "measure/rates_and_totals.hpp"

namespace jitterscope {
namespace {

// A call's name, taken apart as call_name has put it together: the module's path, and the pass.
struct CallPath {
  std::string module;
  bool is_forward = false, is_backward = false;
};
CallPath path_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {name};
  const std::string_view pass = std::string_view(name).substr(dot + 1);
  const auto is = [&](std::string_view word) {
    // A number is added to a name that was there before: forward_2.
    return pass == word || (pass.starts_with(word) && pass.size() > word.size() && pass[word.size()] == '_');
  };
  CallPath path{name.substr(0, dot), is("fprop") || is("forward"),
                is("dgrad") || is("wgrad") || is("backward")};
  constexpr std::string_view kAccumulate = ".accumulate";
  if (path.is_backward && path.module.ends_with(kAccumulate))
    path.module.resize(path.module.size() - kAccumulate.size());
  return path;
}

// The part of a path that names a block: up to the first number. Empty if it has none.
std::string block_of(const std::string& module) {
  for (std::size_t begin = 0; begin < module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    const std::size_t digits = module.find_last_not_of("0123456789", end - 1);
    const bool is_number = digits == std::string::npos || digits < begin;
    const bool ends_with_number = !is_number && digits + 1 < end && module[digits] == '_';
    if (is_number || ends_with_number) return module.substr(0, end);
    begin = end + 1;
  }
  return {};
}

// Names of a forward operation's operands that are weights, where the network does not compute them.
std::vector<std::string_view> weight_operands(const Operation& operation) {
  const auto names = [](const auto& parameters) -> std::vector<std::string_view> {
    using Kind = std::decay_t<decltype(parameters)>;
    if constexpr (std::is_same_v<Kind, Conv2d>) return {"w"};
    if constexpr (std::is_same_v<Kind, Linear>) return {"w", "bias"};
    if constexpr (std::is_same_v<Kind, Matmul>) return {"b", "bias"};
    if constexpr (std::is_same_v<Kind, BatchNorm> || std::is_same_v<Kind, LayerNorm>)
      return {"weight", "bias"};
    if constexpr (std::is_same_v<Kind, BiasAdd>) return {"bias"};
    if constexpr (std::is_same_v<Kind, Embedding>) return {"table"};
    return {};
  };
  return std::visit(names, operation.parameters());
}

bool is_product(const Operation& operation) {
  return std::holds_alternative<Linear>(operation.parameters()) ||
         std::holds_alternative<Matmul>(operation.parameters());
}

// A forward operation's first output.
Operand result_of(const Operation& operation) {
  for (const Operand& operand : operation.operands())
    if (operand.role == OperandRole::output) return operand;
  return {};
}

plan::Cost cost_of(const TimeEstimate& time) {
  return {time.median, has_interval(time) ? (time.high - time.low) * 0.5 : Nanoseconds(0)};
}

// The times of operations and of calls in a record.
class RecordTimes {
 public:
  RecordTimes(const RunRecord& record, const std::string& file) : file_(file) {
    for (const RunEntry& entry : record.entries) {
      if (const Operation* operation = operation_of(entry.result.subject))
        entries_[operation->text()] = &entry;
      for (const std::string& layer : entry.layers)
        has_backward_ = has_backward_ || path_of(layer).is_backward;
    }
    const std::vector<Conditions> all = distinct_conditions(record);
    for (const CacheState cache : {CacheState::produced, CacheState::cold}) {
      const auto found = std::ranges::find(all, cache, &Conditions::cache);
      if (!conditions_ && found != all.end()) conditions_ = *found;
    }
    if (!conditions_ && !all.empty()) conditions_ = all.front();
    if (!record.sequence) return;
    for (const SequenceCall& call : record.sequence->calls) {
      if (call.time.rounds == 0 || call.layer >= record.entries.size()) continue;
      in_sequence_[call.name] = &call;
      plan::Cost& sum = of_entry_[&record.entries[call.layer]];
      sum += cost_of(call.time);
      ++calls_of_entry_[&record.entries[call.layer]];
    }
  }

  const RunEntry& entry_of(const Operation& operation, const std::string& layer,
                           const std::string& network) const {
    const auto found = entries_.find(operation.text());
    if (found == entries_.end() && path_of(layer).is_backward && !has_backward_)
      throw UsageError(
          fmt::format("{}: it has no backward passes, without which there is no step; measure `jitterscope "
                      "run {} --json FILE`",
                      file_, network));
    if (found == entries_.end())
      throw UsageError(fmt::format(
          "{}: it has no time for {}, which {} runs as {}; it is a record of other work: measure `jitterscope run {} "
          "--json FILE`",
          file_, operation.text(), network, layer, network));
    if (!found->second->result.failure.empty())
      throw UsageError(fmt::format("{}: {} could not be measured there ({}); a step without it is none",
                                   file_, operation.text(), found->second->result.failure));
    return *found->second;
  }

  plan::Cost of(const Call& call, const RunEntry& entry) const {
    const auto in_sequence = in_sequence_.find(call.name);
    if (in_sequence != in_sequence_.end()) return cost_of(in_sequence->second->time);
    const auto mean = of_entry_.find(&entry);
    if (mean != of_entry_.end()) {
      const auto calls = static_cast<double>(calls_of_entry_.at(&entry));
      return {mean->second.time / calls, mean->second.error / calls};
    }
    const Measurement* measurement = conditions_ ? find_measurement(entry.result, *conditions_) : nullptr;
    if (measurement == nullptr && !entry.result.measurements.empty())
      measurement = &entry.result.measurements.front();
    if (measurement == nullptr)
      throw UsageError(
          fmt::format("{}: {} was not measured, as the run was ended; continue it with --continue", file_,
                      to_string(entry.result.subject)));
    return cost_of(measurement->time);
  }

  std::string phrase() const {
    if (!in_sequence_.empty()) return "in sequence";
    if (!conditions_) return "as measured";
    return fmt::format("{} {}", to_string(conditions_->cache),
                       conditions_->load == Load::burst ? "bursts" : "under load");
  }

 private:
  const std::string& file_;
  std::map<std::string, const RunEntry*> entries_;
  std::map<std::string, const SequenceCall*> in_sequence_;
  std::map<const RunEntry*, plan::Cost> of_entry_;
  std::map<const RunEntry*, std::int64_t> calls_of_entry_;
  std::optional<Conditions> conditions_;
  bool has_backward_ = false;
};

// Memory by the first call that had it.
using Memory = std::pair<std::size_t, std::size_t>;

class LayerReader {
 public:
  explicit LayerReader(const Model& model) : model_(model) {}

  StepLayers read() && {
    if (model_.calls.empty())
      throw UsageError(
          fmt::format("the order of the calls of {} is not known; name a network that jitterscope builds, "
                      "such as resnet50 or gpt2",
                      model_.name));
    network_.name = model_.name;
    add_layers();
    add_calls();
    number_blocks();
    mark_splits();
    trace_memory();
    return {std::move(network_), std::move(calls_), gradients_};
  }

 private:
  const Operation& operation_of_call(std::size_t call) const {
    return model_.layers[model_.calls[call].layer].operation;
  }

  void add_layers() {
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      const CallPath path = path_of(model_.calls[c].name);
      paths_.push_back(path);
      if (!path.is_forward) continue;
      const auto [found, is_new] = layer_of_.try_emplace(path.module, network_.layers.size());
      if (is_new) {
        network_.layers.push_back({.name = path.module});
        first_call_.push_back(c);
      }
      note_samples(operation_of_call(c));
    }
    const bool has_backward = std::ranges::any_of(paths_, &CallPath::is_backward);
    if (network_.layers.empty() || !has_backward)
      throw UsageError(fmt::format(
          "{} has no {} passes, so there is no step to plan; name the network without direction=, and measure it so",
          model_.name, network_.layers.empty() ? "forward" : "backward"));
  }

  // The batch and the heads stand in what the network computes.
  void note_samples(const Operation& operation) {
    if (const auto* attention = std::get_if<Attention>(&operation.parameters())) {
      network_.samples = attention->batch;
      network_.heads =
          attention->kv_heads > 0 ? std::min(attention->kv_heads, attention->heads) : attention->heads;
    } else if (const auto* conv = std::get_if<Conv2d>(&operation.parameters())) {
      network_.samples = conv->n;
    }
  }

  void add_calls() {
    calls_.resize(network_.layers.size());
    std::size_t last = network_.layers.size() - 1;
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      const auto found = layer_of_.find(paths_[c].module);
      if (found != layer_of_.end()) last = found->second;  // else it belongs to the call before
      (paths_[c].is_forward ? calls_[last].forward : calls_[last].backward).push_back(c);
    }
  }

  // Layers before the first block belong to it, and those behind a block to that one.
  void number_blocks() {
    std::set<std::string> names;
    for (const plan::LayerCosts& layer : network_.layers) names.insert(block_of(layer.name));
    names.erase("");
    const bool by_module = names.size() < 2;
    std::set<std::string> seen;
    std::size_t block = 0;
    for (plan::LayerCosts& layer : network_.layers) {
      const std::string name = by_module ? layer.name : block_of(layer.name);
      if (!name.empty() && seen.insert(name).second && seen.size() > 1) ++block;
      layer.block = block;
    }
  }

  // In a block with attention products come in pairs: one cut by columns, what lies between, one cut by rows.
  void mark_splits() {
    std::set<std::string> with_attention;
    for (std::size_t l = 0; l < network_.layers.size(); ++l)
      if (std::holds_alternative<Attention>(operation_of_call(first_call_[l]).parameters()))
        with_attention.insert(block_of(network_.layers[l].name));
    with_attention.erase("");
    bool was_in_block = false, is_within = false, has_between = false;
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
      plan::LayerCosts& layer = network_.layers[l];
      const Operation& operation = operation_of_call(first_call_[l]);
      const bool is_in_block = with_attention.contains(block_of(layer.name));
      const std::vector<Operand> operands = operation.operands();
      if (!is_in_block) {
        // The blocks' outputs are gathered, and so are the gradients of their inputs.
        if (was_in_block) layer.gathered_forward = operands.front().bytes();
        was_in_block = false;
        is_within = false;
        continue;
      }
      if (!was_in_block && l > 0)
        network_.layers[l - 1].gathered_backward = result_of(operation_of_call(first_call_[l - 1])).bytes();
      was_in_block = true;
      if (!is_product(operation)) {
        layer.is_split = is_within;
        layer.follows_sequence = !is_within;
        has_between = has_between || (is_within && !std::holds_alternative<BiasAdd>(operation.parameters()));
        continue;
      }
      layer.is_split = true;
      if (!is_within) {
        layer.reduced_backward = operands.front().bytes();
        is_within = true;
        has_between = false;
      } else if (has_between) {
        layer.reduced_forward = operands.back().bytes();
        is_within = false;
      }
    }
  }

  void trace_memory() {
    std::set<Memory> weights, kept;
    std::map<Memory, std::size_t> sent;  // to the block before which it was counted last
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      const Call& call = model_.calls[c];
      if (paths_[c].is_forward) add_weights(c, weights);
      for (const OperandSource& source : call.inputs) {
        const Memory memory(source.call, source.source_operand);
        if (weights.contains(memory) || !paths_[source.call].is_forward) continue;
        const Operand operand = operation_of_call(source.call).operands()[source.source_operand];
        const std::size_t owner = layer_of_.at(paths_[source.call].module);
        if (paths_[c].is_backward) {
          if (kept.insert(memory).second) network_.layers[owner].activations += operand.bytes();
        } else if (operand.role == OperandRole::output) {
          send(memory, operand.bytes(), network_.layers[owner].block,
               network_.layers[layer_of_.at(paths_[c].module)].block, sent);
        }
      }
    }
    give_outputs();
  }

  void add_weights(std::size_t c, std::set<Memory>& weights) {
    const Operation& operation = operation_of_call(c);
    const std::vector<Operand> operands = operation.operands();
    for (const std::string_view name : weight_operands(operation)) {
      const auto operand = std::ranges::find(operands, name, &Operand::name);
      if (operand == operands.end()) continue;
      const auto number = static_cast<std::size_t>(operand - operands.begin());
      // One that an earlier call had is shared, or computed.
      if (std::ranges::find(model_.calls[c].inputs, number, &OperandSource::operand) !=
          model_.calls[c].inputs.end())
        continue;
      weights.insert({c, number});
      network_.layers[layer_of_.at(paths_[c].module)].weights += operand->bytes();
      network_.element_bytes = element_size(operand->dtype).value();
      gradients_ = operand->dtype == DataType::tf32 ? DataType::f32 : operand->dtype;
    }
  }

  // A tensor that a later block reads crosses all cuts between.
  void send(const Memory& memory, Bytes bytes, std::size_t from, std::size_t to,
            std::map<Memory, std::size_t>& sent) {
    const std::size_t begin = std::max(from, sent.contains(memory) ? sent[memory] : 0);
    crossing_.resize(std::max(crossing_.size(), network_.blocks()));
    for (std::size_t block = begin; block < to; ++block) crossing_[block] += bytes;
    sent[memory] = std::max(begin, to);
  }

  void give_outputs() {
    crossing_.resize(network_.blocks());
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
      plan::LayerCosts& layer = network_.layers[l];
      const bool ends_block = l + 1 < network_.layers.size() && network_.layers[l + 1].block != layer.block;
      if (!ends_block) continue;
      layer.output = crossing_[layer.block];
      // No call reads it if an untimed operator stands between: then it is as large as the block's last
      // result.
      if (layer.output.value() == 0) {
        for (const Operand& operand : operation_of_call(first_call_[l]).operands())
          if (operand.role == OperandRole::output) layer.output = std::max(layer.output, operand.bytes());
      }
    }
  }

  const Model& model_;
  plan::NetworkCosts network_;
  std::vector<LayerCalls> calls_;
  DataType gradients_ = DataType::f32;
  std::vector<CallPath> paths_;
  std::map<std::string, std::size_t> layer_of_;
  std::vector<std::size_t> first_call_;  // of each layer, forward
  std::vector<Bytes> crossing_;          // behind each block
};

}  // namespace

StepLayers step_layers(const Model& model) { return LayerReader(model).read(); }

plan::NetworkCosts timed_in_sequence(const StepLayers& layers, const SequenceMeasurement& sequence) {
  const auto sum_of = [&](const std::vector<std::size_t>& calls) {
    plan::Cost sum;
    for (const std::size_t c : calls) {
      if (c >= sequence.calls.size() || sequence.calls[c].time.rounds == 0)
        throw FailedError(fmt::format(
            "{}: {} was not measured in sequence, so the step's time cannot be told from its layers'",
            layers.network.name, c < sequence.calls.size() ? sequence.calls[c].name : "a call"));
      sum += cost_of(sequence.calls[c].time);
    }
    return sum;
  };
  plan::NetworkCosts network = layers.network;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    network.layers[l].forward = sum_of(layers.calls[l].forward);
    network.layers[l].backward = sum_of(layers.calls[l].backward);
  }
  return network;
}

StepCosts step_costs(const Model& model, const RunRecord& record, const std::string& file) {
  const RecordTimes times(record, file);
  StepLayers layers = step_layers(model);
  const auto add = [&](const std::vector<std::size_t>& calls, plan::Cost& cost, Nanoseconds& launch) {
    for (const std::size_t c : calls) {
      const Call& call = model.calls[c];
      const RunEntry& entry = times.entry_of(model.layers[call.layer].operation, call.name, model.name);
      cost += times.of(call, entry);
      launch += entry.result.launch_cost;
    }
  };
  for (std::size_t l = 0; l < layers.calls.size(); ++l) {
    plan::LayerCosts& layer = layers.network.layers[l];
    add(layers.calls[l].forward, layer.forward, layer.forward_launch);
    add(layers.calls[l].backward, layer.backward, layer.backward_launch);
  }
  return {std::move(layers.network), times.phrase()};
}

}  // namespace jitterscope
