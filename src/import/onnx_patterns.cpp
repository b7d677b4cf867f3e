// Layers that exporters write as several operators.
#include <algorithm>

#include "import/onnx_import.hpp"

namespace jitterscope::onnx_import {
namespace {

// Follows values from node to node while each has one reader.
class Chain {
 public:
  Chain(Import& import, const OnnxNode& first) : import_(import), nodes_{&first} {}

  /// Goes on to the only reader of the last node, which must be this operator.
  Chain& then(const std::string& operator_name) { return then(operator_name, ""); }
  /// And which must read `other` as well.
  Chain& then(const std::string& operator_name, const std::string& other) {
    if (nodes_.empty() || nodes_.back()->outputs.empty()) return broken();
    const auto& readers = import_.readers(nodes_.back()->outputs.front());
    if (readers.size() != 1) return broken();
    return go_to(*readers.front(), operator_name, other);
  }
  /// Goes on to one of two readers.
  Chain& then_one_of_two(const std::string& operator_name) {
    if (nodes_.empty() || nodes_.back()->outputs.empty()) return broken();
    const auto& readers = import_.readers(nodes_.back()->outputs.front());
    const auto found = std::find_if(readers.begin(), readers.end(), [&](const OnnxNode* reader) {
      return reader->operator_name == operator_name;
    });
    return readers.size() == 2 && found != readers.end() ? go_to(**found, operator_name, "") : broken();
  }

  bool holds() const { return !nodes_.empty(); }
  const OnnxNode& operator[](std::size_t place) const { return *nodes_[place]; }
  const OnnxNode& last() const { return *nodes_.back(); }
  void take_over() {
    for (const OnnxNode* node : nodes_) import_.take_over(*node);
  }

 private:
  Chain& broken() {
    nodes_.clear();
    return *this;
  }
  Chain& go_to(const OnnxNode& node, const std::string& operator_name, const std::string& other) {
    const bool reads_it = other.empty() || node.input(0) == other || node.input(1) == other;
    if (node.operator_name != operator_name || !reads_it || node.outputs.empty()) return broken();
    nodes_.push_back(&node);
    return *this;
  }

  Import& import_;
  std::vector<const OnnxNode*> nodes_;
};

}  // namespace

// x/2·(1 + erf(x/sqrt(2)))
bool is_gelu(Import& import, const OnnxNode& division) {
  const std::string x = division.input(0);
  const std::optional<Shape> shape = import.shape(x);
  Chain chain(import, division);
  chain.then("Erf").then("Add").then("Mul", x).then("Mul");
  if (!chain.holds() || !shape) return false;
  const Elementwise gelu{ElementwiseKind::gelu, count_of(*shape), import.types().other};
  import.run(chain.last(), import.step_name(chain.last()), gelu, {import.tensor(x)}, *shape);
  chain.take_over();
  return true;
}

// (x - mean) / sqrt(mean of (x - mean)² + eps)·weight + bias
bool is_layer_norm(Import& import, const OnnxNode& mean) {
  const std::string x = mean.input(0);
  const std::optional<Shape> shape = import.shape(x);
  Chain chain(import, mean);
  chain.then("Sub", x).then_one_of_two("Pow").then("ReduceMean").then("Add").then("Sqrt").then("Div");
  if (!chain.holds() || !shape || shape->empty() || chain.last().input(0) != chain[1].outputs.front())
    return false;
  chain.then("Mul").then("Add");
  if (!chain.holds()) return false;
  const std::int64_t columns = shape->back();
  const LayerNorm norm{count_of(*shape) / columns, columns, import.types().other};
  import.run(chain.last(), import.step_name(chain.last()), norm, {import.tensor(x)}, *shape);
  chain.take_over();
  return true;
}

}  // namespace jitterscope::onnx_import
