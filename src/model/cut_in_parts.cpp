#include "model/cut_in_parts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// An operand of a call, by their numbers.
using CallOperand = std::pair<std::size_t, std::size_t>;

// Gives each operation of a model one layer.
class LayersByOperation {
 public:
  explicit LayersByOperation(Model& model) : model_(model) {}

  void add(Call call, const Operation& operation, const std::string& source) {
    const auto [found, is_new] = layers_.try_emplace(operation.text(), model_.layers.size());
    if (is_new) model_.layers.push_back({{}, operation, source});
    call.layer = found->second;
    model_.layers[call.layer].names.push_back(call.name);
    model_.calls.push_back(std::move(call));
  }

 private:
  Model& model_;
  std::unordered_map<std::string, std::size_t> layers_;
};

class Cut {
 public:
  Cut(const Model& model, const StepLayers& layers, std::int64_t ranks, bool by_sequence)
      : model_(model),
        layers_(layers),
        ranks_(ranks),
        by_sequence_(by_sequence),
        layer_of_(model.calls.size()) {
    if (layers.network.heads == 0)
      throw UsageError(fmt::format(
          "{} has no attention, and layers are cut in parts in transformers alone; name gpt2, bert-base or vit-b16",
          model.name));
    plan::split_in_parts(layers.network, ranks, by_sequence);  // which says what else cannot be cut
    for (std::size_t l = 0; l < layers.calls.size(); ++l) {
      for (const std::size_t c : layers.calls[l].forward) layer_of_[c] = l;
      for (const std::size_t c : layers.calls[l].backward) layer_of_[c] = l;
    }
  }

  Model made() && {
    Model cut;
    cut.name = fmt::format("{} cut in {} parts{}", model_.name, ranks_, by_sequence_ ? " by sequence" : "");
    cut.description = model_.description;
    LayersByOperation by_operation(cut);
    for (call_ = 0; call_ < model_.calls.size(); ++call_) {
      const Call& whole = model_.calls[call_];
      operations_.push_back(cut_operation());
      by_operation.add(linked(whole), operations_.back(), model_.layers[whole.layer].source);
    }
    return cut;
  }

 private:
  const Operation& whole(std::size_t call) const { return model_.layers[model_.calls[call].layer].operation; }
  const plan::LayerCosts& layer() const { return layers_.network.layers[layer_of_[call_]]; }

  std::int64_t part(std::int64_t size, const char* what) const {
    if (size % ranks_ == 0) return size / ranks_;
    throw UsageError(fmt::format(
        "{}: the {} {} of {} have no equal part for each of {} ranks; take a batch that has, as in "
        "{}:batch={}, or another number of ranks",
        model_.name, size, what, model_.calls[call_].name, ranks_, model_.name,
        round_up(layers_.network.samples, ranks_)));
  }
  [[noreturn]] void refuse(const char* way) const {
    throw UsageError(fmt::format("{}: {} ({}) cannot be cut {}; name gpt2, bert-base or vit-b16", model_.name,
                                 model_.calls[call_].name, whole(call_).text(), way));
  }

  Operation cut_operation() {
    if (layer().is_split) {
      const Operation& first = whole(layers_.calls[layer_of_[call_]].forward.front());
      return is_product(first) ? cut_product(first) : cut_by_columns();
    }
    return by_sequence_ && layer().follows_sequence ? cut_by_rows() : whole(call_);
  }

  static bool is_product(const Operation& operation) {
    return std::holds_alternative<Linear>(operation.parameters()) ||
           std::holds_alternative<Matmul>(operation.parameters());
  }

  // A product whose sum is reduced behind it is cut by rows: its inner dimension; else by columns.
  Operation cut_product(const Operation& forward) {
    const bool by_rows = layer().reduced_forward.value() > 0;
    if (const auto* linear = std::get_if<Linear>(&whole(call_).parameters())) {
      Linear own = *linear;
      std::int64_t& size = by_rows ? own.in : own.out;
      size = part(size, by_rows ? "inputs" : "outputs");
      return Operation(own);
    }
    const auto* product = std::get_if<Matmul>(&whole(call_).parameters());
    if (product == nullptr) return cut_sum();
    const auto* stored = std::get_if<Matmul>(&forward.parameters());
    if (product->batch > 1 || (stored != nullptr && stored->transpose_a)) refuse("by columns or rows");
    const bool is_forward = call_ == layers_.calls[layer_of_[call_]].forward.front();
    const bool is_weight_gradient = !is_forward && product->transpose_a;
    const bool is_transposed = stored == nullptr || stored->transpose_b;  // weights are stored outputs first
    Matmul own = *product;
    // Forward m·n·k is rows·outputs·inputs, the input's gradient rows·inputs·outputs.
    std::int64_t& size = is_weight_gradient ? (by_rows == is_transposed ? own.n : own.m)
                                            : (by_rows == is_forward ? own.k : own.n);
    size = part(size, by_rows ? "inputs" : "outputs");
    return Operation(own);
  }

  // A sum of input gradients, each of which is a part of a sum over ranks, and so whole. Of what each rank
  // has its own rows of, it adds those, in place.
  Operation cut_sum() {
    const auto* sum = std::get_if<Elementwise>(&whole(call_).parameters());
    if (sum == nullptr) refuse("by columns or rows");
    std::optional<CallOperand> added_to;
    bool adds_rows = false;
    for (const OperandSource& input : model_.calls[call_].inputs) {
      const CallOperand source = written_in({input.call, input.source_operand});
      if (bytes_of(source) < bytes_of_whole(source)) {
        adds_rows = true;
      } else {
        added_to = source;
      }
    }
    if (!adds_rows || !added_to) return Operation(*sum);
    constexpr std::size_t kResult = 2;
    in_place_[{call_, kResult}] = *added_to;
    return cut_elements(*sum);
  }

  Operation cut_elements(const Elementwise& whole_one) const {
    Elementwise own = whole_one;
    own.count = part(own.count, "elements");
    return Operation(own);
  }

  // Between a product by columns and one by rows.
  Operation cut_by_columns() const {
    if (const auto* attention = std::get_if<Attention>(&whole(call_).parameters())) {
      Attention own = *attention;
      own.heads = part(own.heads, "heads");
      if (own.kv_heads > 0) own.kv_heads = part(own.kv_heads, "heads of keys");
      return Operation(own);
    }
    if (const auto* each = std::get_if<Elementwise>(&whole(call_).parameters())) return cut_elements(*each);
    const auto* bias = std::get_if<BiasAdd>(&whole(call_).parameters());
    if (bias == nullptr || bias->h * bias->w > 1) refuse("by columns");
    BiasAdd own = *bias;
    own.c = part(own.c, "columns");
    return Operation(own);
  }

  Operation cut_by_rows() const {
    if (const auto* norm = std::get_if<LayerNorm>(&whole(call_).parameters())) {
      LayerNorm own = *norm;
      own.rows = part(own.rows, "rows");
      return Operation(own);
    }
    if (const auto* each = std::get_if<Elementwise>(&whole(call_).parameters())) return cut_elements(*each);
    const auto* bias = std::get_if<BiasAdd>(&whole(call_).parameters());
    if (bias == nullptr) refuse("by the sequence");
    BiasAdd own = *bias;
    own.n = part(own.n, "rows");
    return Operation(own);
  }

  Bytes bytes_of_whole(const CallOperand& operand) const {
    return whole(operand.first).operands()[operand.second].bytes();
  }
  Bytes bytes_of(const CallOperand& operand) const {
    return operations_[operand.first].operands()[operand.second].bytes();
  }
  // Where an operand lies: in an earlier one, if it was written in place.
  CallOperand written_in(const CallOperand& operand) const {
    const auto found = in_place_.find(operand);
    return found == in_place_.end() ? operand : found->second;
  }

  Call linked(const Call& whole_call) {
    Call call{0, whole_call.name, {}, whole_call.unwritten};
    const std::vector<Operand> operands = operations_.back().operands();
    for (const OperandSource& input : whole_call.inputs) {
      const CallOperand source = written_in({input.call, input.source_operand});
      const Bytes size = bytes_of(source), size_of_whole = bytes_of_whole(source);
      const Bytes offset(input.offset.value() / (size_of_whole.value() / size.value()));  // whole parts
      if (offset + operands[input.operand].bytes() <= size) {
        call.inputs.push_back({input.operand, source.first, source.second, offset});
      } else if (operands[input.operand].role == OperandRole::input) {
        link_gathered(call, input.operand, source, input.offset);
      }
    }
    for (const auto& [own, target] : in_place_)
      if (own.first == call_) call.inputs.push_back({own.second, target.first, target.second, {}});
    return call;
  }

  // The first call that reads what was gathered has the memory.
  void link_gathered(Call& call, std::size_t operand, const CallOperand& source, Bytes offset) {
    const auto [found, is_new] =
        gathered_.try_emplace({source.first, source.second, offset.value()}, call_, operand);
    if (is_new) {
      ++call.unwritten;
    } else {
      call.inputs.push_back({operand, found->second.first, found->second.second, {}});
    }
  }

  const Model& model_;
  const StepLayers& layers_;
  std::int64_t ranks_;
  bool by_sequence_;
  std::vector<std::size_t> layer_of_;  // of each call
  std::size_t call_ = 0;
  std::vector<Operation> operations_;  // of the calls up to this one
  std::map<CallOperand, CallOperand> in_place_;
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, CallOperand> gathered_;
};

}  // namespace

Model cut_in_parts(const Model& model, const StepLayers& layers, std::int64_t ranks, bool by_sequence) {
  return Cut(model, layers, ranks, by_sequence).made();
}

Model one_after_another(std::span<const Model> models) {
  Model all;
  LayersByOperation by_operation(all);
  for (std::size_t m = 0; m < models.size(); ++m) {
    const std::size_t before = all.calls.size();
    for (Call call : models[m].calls) {
      for (OperandSource& input : call.inputs) input.call += before;
      const Layer& layer = models[m].layers[call.layer];
      if (m > 0) call.name += fmt::format("@{}", m + 1);  // names differ
      by_operation.add(std::move(call), layer.operation, layer.source);
    }
  }
  all.name = models.front().name;
  all.description = models.front().description;
  return all;
}

}  // namespace jitterscope
