// Matrix products, by how their operands lie in memory.
#include <algorithm>

#include "import/onnx_einsum.hpp"

namespace jitterscope::onnx_import {
namespace {

bool is_vector_of(const std::optional<Shape>& shape, std::int64_t count) {
  return shape && !shape->empty() && shape->back() == count && count_of(*shape) == count;
}

// An operand of a product: one matrix, or a batch of them.
struct Matrices {
  Tensor tensor;
  bool transposed = false;
};

// As torch.matmul passes a value on: seen in that shape, or copied where it cannot be.
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

// torch.nn.Linear is written as Gemm with transB, or as MatMul and Add.
std::string gemm(Import& import, const OnnxNode& node) {
  const std::optional<Shape> a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b || a->size() != 2 || b->size() != 2) return kUnknownShape;
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  const std::int64_t m = (*a)[ta ? 1 : 0], k = (*a)[ta ? 0 : 1], n = (*b)[tb ? 0 : 1];
  if ((*b)[tb ? 1 : 0] != k) return kNoFit;
  const bool has_bias = !node.input(2).empty();
  if (has_bias && !is_vector_of(import.shape(node.input(2)), n)) return "its third input is no bias";
  const Matrices left = as_matrices(import, node, 0, *a), right = as_matrices(import, node, 1, *b);
  const bool flips_left = ta != left.transposed, flips_right = tb != right.transposed;
  const DataType type = import.types().product;
  const std::string name = import.step_name(node);
  if (flips_right && !flips_left) {
    import.run(node, name, Linear{m, k, n, has_bias, type}, {left.tensor, right.tensor}, {m, n});
  } else {
    import.run(node, name, Matmul{m, n, k, 1, flips_left, flips_right, has_bias, type},
               {left.tensor, right.tensor}, {m, n});
  }
  return "";
}

// The Add of a bias that alone reads the product.
const OnnxNode* bias_of(Import& import, const OnnxNode& node, std::int64_t n) {
  const auto& readers = import.readers(node.outputs.front());
  if (readers.size() != 1 || readers[0]->operator_name != "Add") return nullptr;
  const std::string other = readers[0]->input(readers[0]->input(0) == node.outputs.front() ? 1 : 0);
  const auto& shape = import.shape(other);
  return import.value(other).is_weight && shape && shape->size() == 1 && is_vector_of(shape, n) ? readers[0]
                                                                                                : nullptr;
}

// Of a weight: torch.nn.Linear, whose weight exporters write transposed.
std::string product_with_matrix(Import& import, const OnnxNode& node, const Shape& a, const Shape& b) {
  const std::int64_t k = a.back(), n = b[1], m = count_of(Shape(a.begin(), a.end() - 1));
  Shape output(a.begin(), a.end() - 1);
  output.push_back(n);
  const Matrices left = as_matrices(import, node, 0, {m, k}), right = as_matrices(import, node, 1, b);
  const bool is_linear = import.value(node.input(1)).is_weight && !left.transposed;
  const OnnxNode* add = is_linear ? bias_of(import, node, n) : nullptr;
  const OnnxNode& last = add != nullptr ? *add : node;
  const DataType type = import.types().product;
  const Operation::Parameters product =
      is_linear ? Operation::Parameters(Linear{m, k, n, add != nullptr, type})
                : Matmul{m, n, k, 1, left.transposed, right.transposed, false, type};
  import.run(last, import.step_name(last), product, {left.tensor, right.tensor}, output);
  if (add != nullptr) import.take_over(*add);
  return "";
}

std::string matmul(Import& import, const OnnxNode& node) {
  const std::optional<Shape> a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b) return kUnknownShape;
  if (a->size() < 2 || b->size() < 2) return "it is a product with a vector";
  const std::int64_t m = (*a)[a->size() - 2], k = a->back(), n = b->back();
  if (k != (*b)[b->size() - 2]) return kNoFit;
  if (b->size() == 2) return product_with_matrix(import, node, *a, *b);
  Shape output(a->begin(), a->end() - 2);
  if (output != Shape(b->begin(), b->end() - 2)) return "its batches differ";
  const std::int64_t batch = count_of(output);
  output.insert(output.end(), {m, n});
  const Matrices left = as_matrices(import, node, 0, {batch, m, k});
  const Matrices right = as_matrices(import, node, 1, {batch, k, n});
  const Matmul product{m, n, k, batch, left.transposed, right.transposed, false, import.types().product};
  import.run(node, import.step_name(node), product, {left.tensor, right.tensor}, output);
  return "";
}

// PyTorch multiplies it as a batch of matrices.
std::string einsum(Import& import, const OnnxNode& node) {
  const std::optional<Shape> output = einsum_shape(import, node);
  if (!output) return "the shape of an input is not known, or does not fit its equation";
  const auto product = einsum_product(import, node);
  if (!product) return "its equation is no product of matrices in order";
  const auto& [batch, m, n, k, flips_left, flips_right] = *product;
  const Matrices left = as_matrices(import, node, 0, {batch, flips_left ? k : m, flips_left ? m : k});
  const Matrices right = as_matrices(import, node, 1, {batch, flips_right ? n : k, flips_right ? k : n});
  const Matmul matmul{m,
                      n,
                      k,
                      batch,
                      flips_left != left.transposed,
                      flips_right != right.transposed,
                      false,
                      import.types().product};
  import.run(node, import.step_name(node), matmul, {left.tensor, right.tensor}, *output);
  return "";
}

// torch.nn.functional.scaled_dot_product_attention, which exporters write as one operator since opset 23.
std::string attention(Import& import, const OnnxNode& node) {
  const std::optional<Shape> q = import.shape(node.input(0)), k = import.shape(node.input(1));
  const std::optional<Shape> v = import.shape(node.input(2));
  if (!q || !k || !v) return kUnknownShape;
  if (q->size() != k->size() || *k != *v || (q->size() != 3 && q->size() != 4)) return kNoFit;
  for (std::size_t place = 3; place < node.inputs.size(); ++place) {
    if (!node.inputs[place].empty()) return "it has a mask, or keys of before";
  }
  if (node.attributes.contains("scale") || node.real("softcap", 0.0) != 0.0)
    return "its scores are scaled or capped in another way than by the root of their dimension";
  Attention shape{.batch = q->front(), .causal = node.integer("is_causal", 0) != 0};
  shape.dtype = import.types().product;
  std::int64_t key_heads = 0, key_dim = 0;
  if (q->size() == 4) {
    shape.heads = (*q)[1], shape.queries = (*q)[2], shape.dim = (*q)[3];
    key_heads = (*k)[1], shape.keys = (*k)[2], key_dim = (*k)[3];
  } else {  // all heads beside each other
    shape.heads = node.integer("q_num_heads", 0), key_heads = node.integer("kv_num_heads", 0);
    if (shape.heads < 1 || key_heads < 1 || q->back() % shape.heads != 0 || k->back() % key_heads != 0)
      return kNoFit;
    shape.queries = (*q)[1], shape.dim = q->back() / shape.heads;
    shape.keys = (*k)[1], key_dim = k->back() / key_heads;
    shape.layout = HeadLayout::bshd;
  }
  if (k->front() != shape.batch || key_dim != shape.dim) return kNoFit;
  if (key_heads != shape.heads) return "it has fewer heads of keys than of queries";
  import.run(node, import.step_name(node), shape,
             {import.tensor(node.input(0)), import.tensor(node.input(1)), import.tensor(node.input(2))}, *q);
  return "";
}

}  // namespace

const Importers& product_importers() {
  static const Importers importers = {
      {"Attention", attention}, {"Einsum", einsum}, {"Gemm", gemm}, {"MatMul", matmul}};
  return importers;
}

}  // namespace jitterscope::onnx_import
