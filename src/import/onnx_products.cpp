#include "import/onnx_products.hpp"

#include <algorithm>
#include <cctype>

#include "import/onnx.hpp"

// Imports ONNX's matrix products, attention, row operators, and layers that exporters split up.

namespace jitterscope::onnx_import {
namespace {

bool is_vector_of(const std::optional<Shape>& shape, std::int64_t count) {
  return shape && !shape->empty() && shape->back() == count && count_of(*shape) == count;
}

// An operand of a product: a matrix, or a batch of matrices.
struct Matrices {
  Tensor tensor;
  bool transposed = false;
};

// Returns the operand in this shape as torch.matmul passes it on: a view, or a copy if no view is possible.
Matrices as_matrices(Import& import, const OnnxNode& node, std::size_t place, const Shape& shape) {
  const std::string name = node.input(place);
  const Tensor tensor = import.tensor(name);
  const Value& value = import.value(name);
  if (const auto strides = strides_of_view(*value.shape, strides_of(value), shape)) {
    const std::size_t last = shape.size() - 1;
    const auto is_dense = [&](std::size_t axis) { return shape[axis] == 1 || (*strides)[axis] == 1; };
    if (is_dense(last)) return {tensor};
    if (is_dense(last - 1)) return {tensor, true};
  }
  const Network::UntimedStep copy{"clone", "", kCopy};
  return {import.network().add_untimed(import.step_name(node) + ".clone", copy, {tensor}, count_of(shape))};
}

// Returns a product's operands as torch.matmul passes them on, and sets which are stored transposed.
std::vector<Tensor> operands_of(Import& import, const OnnxNode& node, Matmul& product) {
  const auto shape = [&](std::int64_t rows, std::int64_t columns, bool flips) {
    return Shape{product.batch, flips ? columns : rows, flips ? rows : columns};
  };
  const Matrices left = as_matrices(import, node, 0, shape(product.m, product.k, product.transpose_a));
  const Matrices right = as_matrices(import, node, 1, shape(product.k, product.n, product.transpose_b));
  product.transpose_a = product.transpose_a != left.transposed;
  product.transpose_b = product.transpose_b != right.transposed;
  return {left.tensor, right.tensor};
}

Linear as_linear(const Matmul& product) {
  return {product.m, product.k, product.n, product.bias, product.dtype};
}

// Exporters write torch.nn.Linear as Gemm with transB, or as MatMul and Add.
void gemm(Import& import, const OnnxNode& node) {
  const Shape a = import.known_shape(node, 0), b = import.known_shape(node, 1);
  if (a.size() != 2 || b.size() != 2) throw UsageError(kUnknownShape);
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  Matmul product{a[ta ? 1 : 0], b[tb ? 0 : 1], a[ta ? 0 : 1], 1, ta, tb, !node.input(2).empty()};
  product.dtype = import.types().product;
  if (b[tb ? 1 : 0] != product.k) throw UsageError(kNoFit);
  if (product.bias && !is_vector_of(import.shape(node.input(2)), product.n))
    throw UsageError("its third input is not a bias");
  const std::vector<Tensor> operands = operands_of(import, node, product);
  const bool is_linear = product.transpose_b && !product.transpose_a;
  import.run(node, import.step_name(node),
             is_linear ? Operation::Parameters(as_linear(product)) : Operation::Parameters(product), operands,
             {product.m, product.n});
}

// Returns the Add of a bias that is the product's only reader, or null.
const OnnxNode* bias_of(Import& import, const OnnxNode& node, std::int64_t n) {
  const auto& readers = import.readers(node.outputs.front());
  if (readers.size() != 1 || readers[0]->operator_name != "Add") return nullptr;
  const std::string other = readers[0]->input(readers[0]->input(0) == node.outputs.front() ? 1 : 0);
  const auto& shape = import.shape(other);
  return import.value(other).is_weight && shape && shape->size() == 1 && is_vector_of(shape, n) ? readers[0]
                                                                                                : nullptr;
}

// A product with a weight is torch.nn.Linear, whose weight exporters write transposed.
void product_with_matrix(Import& import, const OnnxNode& node, Matmul product, Shape output) {
  product.m = count_of(Shape(output.begin(), output.end() - 1));
  const std::vector<Tensor> operands = operands_of(import, node, product);
  const bool is_linear = import.value(node.input(1)).is_weight && !product.transpose_a;
  const OnnxNode* add = is_linear ? bias_of(import, node, product.n) : nullptr;
  const OnnxNode& last = add != nullptr ? *add : node;
  product.bias = add != nullptr;
  import.run(last, import.step_name(last),
             is_linear ? Operation::Parameters(as_linear(product)) : Operation::Parameters(product), operands,
             std::move(output));
  if (add != nullptr) import.take_over(*add);
}

void matmul(Import& import, const OnnxNode& node) {
  const Shape a = import.known_shape(node, 0), b = import.known_shape(node, 1);
  if (a.size() < 2 || b.size() < 2) throw UsageError("it is a product with a vector");
  Matmul product{a[a.size() - 2], b.back(), a.back()};
  product.dtype = import.types().product;
  if (product.k != b[b.size() - 2]) throw UsageError(kNoFit);
  Shape output = a;
  output.back() = product.n;
  if (b.size() == 2) return product_with_matrix(import, node, product, std::move(output));
  const Shape batch(a.begin(), a.end() - 2);
  if (batch != Shape(b.begin(), b.end() - 2)) throw UsageError("its batches differ");
  product.batch = count_of(batch);
  const std::vector<Tensor> operands = operands_of(import, node, product);
  import.run(node, import.step_name(node), product, operands, std::move(output));
}

// PyTorch runs an Einsum as a batched matrix product.
void einsum(Import& import, const OnnxNode& node) {
  std::optional<Shape> output = einsum_shape(import, node);
  if (!output) throw UsageError("the shape of an input is not known, or does not fit its equation");
  std::optional<Matmul> product = einsum_product(import, node);
  if (!product) throw UsageError("its equation is not a matrix product in order");
  product->dtype = import.types().product;
  const std::vector<Tensor> operands = operands_of(import, node, *product);
  import.run(node, import.step_name(node), *product, operands, *std::move(output));
}

// Exporters write torch.nn.functional.scaled_dot_product_attention as one operator since opset 23.
void attention(Import& import, const OnnxNode& node) {
  const Shape q = import.known_shape(node, 0), k = import.known_shape(node, 1);
  if (q.size() != k.size() || k != import.known_shape(node, 2) || (q.size() != 3 && q.size() != 4))
    throw UsageError(kNoFit);
  for (std::size_t place = 3; place < node.inputs.size(); ++place) {
    if (!node.inputs[place].empty()) throw UsageError("it has a mask, or keys of before");
  }
  if (node.attributes.contains("scale") || node.real("softcap", 0.0) != 0.0) {
    throw UsageError("its scores are scaled or capped in another way than by the root of their dimension");
  }
  Attention shape{.batch = q.front(), .causal = node.integer("is_causal", 0) != 0};
  shape.dtype = import.types().product;
  std::int64_t key_heads = 0, key_dim = 0;
  if (q.size() == 4) {
    shape.heads = q[1], shape.queries = q[2], shape.dim = q[3];
    key_heads = k[1], shape.keys = k[2], key_dim = k[3];
  } else {  // the heads lie side by side in one axis
    shape.heads = node.integer("q_num_heads", 0), key_heads = node.integer("kv_num_heads", 0);
    if (shape.heads < 1 || key_heads < 1 || q.back() % shape.heads != 0 || k.back() % key_heads != 0)
      throw UsageError(kNoFit);
    shape.queries = q[1], shape.dim = q.back() / shape.heads;
    shape.keys = k[1], key_dim = k.back() / key_heads;
    shape.layout = HeadLayout::bshd;
  }
  if (k.front() != shape.batch || key_dim != shape.dim) throw UsageError(kNoFit);
  if (key_heads != shape.heads) throw UsageError("it has fewer heads of keys than of queries");
  import.run(node, import.step_name(node), shape,
             {import.tensor(node.input(0)), import.tensor(node.input(1)), import.tensor(node.input(2))}, q);
}

}  // namespace

const Importers& product_importers() {
  static const Importers importers = {
      {"Attention", attention}, {"Einsum", einsum}, {"Gemm", gemm}, {"MatMul", matmul}};
  return importers;
}

namespace {

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, std::int64_t> sizes;  // size of each letter
};

bool is_term(const std::string& term) {
  const auto is_letter = [](char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0; };
  std::string letters = term;
  std::sort(letters.begin(), letters.end());
  return std::all_of(term.begin(), term.end(), is_letter) &&
         std::adjacent_find(letters.begin(), letters.end()) == letters.end();
}

std::optional<Equation> parse(const OnnxNode& node) {
  std::string text = node.text("equation");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation;
  equation.output = text.substr(arrow + 2);
  std::string terms = text.substr(0, arrow) + ',';
  for (std::size_t end = terms.find(','); end != std::string::npos; end = terms.find(',')) {
    equation.inputs.push_back(terms.substr(0, end));
    terms.erase(0, end + 1);
  }
  const bool all_terms =
      is_term(equation.output) && std::all_of(equation.inputs.begin(), equation.inputs.end(), is_term);
  return all_terms && equation.inputs.size() == node.inputs.size() ? std::optional(equation) : std::nullopt;
}

std::optional<Equation> read(Import& import, const OnnxNode& node) {
  std::optional<Equation> equation = parse(node);
  if (!equation) return std::nullopt;
  for (std::size_t i = 0; i < equation->inputs.size(); ++i) {
    const std::optional<Shape>& shape = import.shape(node.inputs[i]);
    const std::string& letters = equation->inputs[i];
    if (!shape || shape->size() != letters.size()) return std::nullopt;
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      if (equation->sizes.emplace(letters[axis], (*shape)[axis]).first->second != (*shape)[axis])
        return std::nullopt;
    }
  }
  const auto has_size = [&](char letter) { return equation->sizes.contains(letter); };
  return std::all_of(equation->output.begin(), equation->output.end(), has_size) ? equation : std::nullopt;
}

}  // namespace

std::optional<Shape> einsum_shape(Import& import, const OnnxNode& node) {
  const std::optional<Equation> equation = read(import, node);
  if (!equation) return std::nullopt;
  Shape shape;
  for (const char letter : equation->output) shape.push_back(equation->sizes.at(letter));
  return shape;
}

std::optional<Matmul> einsum_product(Import& import, const OnnxNode& node) {
  const std::optional<Equation> equation = read(import, node);
  if (!equation || equation->inputs.size() != 2 || equation->output.size() < 2) return std::nullopt;
  const std::string &a = equation->inputs[0], &b = equation->inputs[1];
  const std::size_t leading = equation->output.size() - 2;
  if (a.size() != leading + 2 || b.size() != a.size()) return std::nullopt;
  const std::string batch = equation->output.substr(0, leading);
  if (a.substr(0, leading) != batch || b.substr(0, leading) != batch) return std::nullopt;
  const char m = equation->output[leading], n = equation->output[leading + 1];
  Matmul product;
  product.transpose_a = a.back() == m;
  product.transpose_b = b.back() != n;
  const char k = product.transpose_a ? a[leading] : a.back();
  const std::string left = product.transpose_a ? std::string{k, m} : std::string{m, k};
  const std::string right = product.transpose_b ? std::string{n, k} : std::string{k, n};
  if (k == n || a.substr(leading) != left || b.substr(leading) != right) return std::nullopt;
  for (const char letter : batch) product.batch = count_of({product.batch, equation->sizes.at(letter)});
  product.m = equation->sizes.at(m), product.n = equation->sizes.at(n), product.k = equation->sizes.at(k);
  return product;
}

// Operators on rows: softmax, layer norm, embeddings.

namespace {

constexpr std::int64_t kOpsetOfLastAxis = 13;  // before it, softmax took all axes from `axis` on as one

template <bool logarithm>
void softmax(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const bool old = import.file().opset > 0 && import.file().opset < kOpsetOfLastAxis;
  const std::size_t axis = required_axis(node.integer("axis", old ? 1 : -1), x.size());
  if (!old && axis + 1 != x.size()) throw UsageError("it is over another axis than the last");
  const auto [rows, columns] = rows_of(x, axis);
  const Softmax shape{logarithm, rows, columns, import.types().other};
  import.run(node, import.step_name(node), shape, {import.tensor(node.input(0))}, x);
}

void layer_normalization(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const auto [rows, columns] = rows_of(x, required_axis(node.integer("axis", -1), x.size()));
  const LayerNorm shape{rows, columns, import.types().other};
  import.run(node, import.step_name(node), shape, {import.tensor(node.input(0))}, x);
}

// A Gather of rows of a weight is an embedding. A Gather of a single place takes a part of its input.
void gather(Import& import, const OnnxNode& node) {
  const Shape table = import.known_shape(node, 0), indices = import.known_shape(node, 1);
  const std::size_t axis = required_axis(node.integer("axis", 0), table.size());
  Shape output = gathered_shape(table, indices, axis);
  const std::string name = import.step_name(node);
  if (import.value(node.input(0)).is_weight && table.size() == 2 && axis == 0) {
    const Embedding shape{count_of(indices), table[0], table[1], import.types().other};
    const Tensor places = import.network().input(shape.count, DataType::i64);
    return import.run(node, name, shape, {places, import.tensor(node.input(0))}, std::move(output));
  }
  if (count_of(indices) != 1) throw UsageError("it picks from a tensor that is not a weight");
  const Tensor part = import.network().select(name, import.tensor(node.input(0)), count_of(output));
  Shape strides = strides_of(import.value(node.input(0)));
  const auto place = strides.begin() + static_cast<std::ptrdiff_t>(axis);
  strides.insert(strides.erase(place), indices.size(), 1);
  import.define(node.outputs.front(), std::move(output), part, strides);
}

}  // namespace

const Importers& row_importers() {
  static const Importers importers = {{"Softmax", softmax<false>},
                                      {"LogSoftmax", softmax<true>},
                                      {"LayerNormalization", layer_normalization},
                                      {"Gather", gather}};
  return importers;
}

// Layers that exporters write as several operators.

namespace {

// Follows values from node to node; each value must have one reader unless said otherwise.
class Chain {
 public:
  Chain(Import& import, const OnnxNode& first) : import_(import), nodes_{&first} {}

  /// Goes on to the only reader of the last node, which must be this operator.
  Chain& then(const std::string& operator_name) { return then(operator_name, ""); }
  /// The same; the reader must also read `other`.
  Chain& then(const std::string& operator_name, const std::string& other) {
    if (nodes_.empty() || nodes_.back()->outputs.empty()) return broken();
    const auto& readers = import_.readers(nodes_.back()->outputs.front());
    if (readers.size() != 1) return broken();
    return go_to(*readers.front(), operator_name, other);
  }
  /// Goes on to one of exactly two readers.
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

// Recognises x/2·(1 + erf(x/sqrt(2))).
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

// Recognises (x - mean) / sqrt(mean of (x - mean)² + eps)·weight + bias.
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
