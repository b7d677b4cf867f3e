#include <array>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

// What is counted as one: an addition, multiplication, division, comparison, exponential, erf and tanh; a
// change of sign is free. The kernels' real instructions for the last three differ between devices.
struct Facts {
  std::string_view name, summary;
  std::vector<const char*> inputs;
  double flops_per_element = 0;
};

const Facts& facts(ElementwiseKind kind) {
  // By ElementwiseKind.
  static const std::array<Facts, 15> all = {{
      {"fill", "writes ones, y = 1", {}, 0},
      {"add", "element by element, y = a + b", {"a", "b"}, 1},
      {"mul", "element by element, y = a * b", {"a", "b"}, 1},
      {"relu", "element by element, y = max(x, 0)", {"x"}, 1},
      {"relu6", "element by element, y = min(max(x, 0), 6)", {"x"}, 2},
      {"sigmoid", "element by element, y = 1 / (1 + exp(-x))", {"x"}, 3},
      {"tanh", "element by element, y = tanh(x)", {"x"}, 1},
      {"silu", "element by element, y = x / (1 + exp(-x))", {"x"}, 3},
      {"gelu", "element by element, y = x/2 * (1 + erf(x/sqrt(2)))", {"x"}, 5},
      {"relu_backward", "dx = dy where y > 0, else 0", {"dy", "y"}, 1},
      {"relu6_backward", "dx = dy where 0 < x < 6, else 0", {"dy", "x"}, 2},
      {"sigmoid_backward", "dx = dy * y * (1 - y)", {"dy", "y"}, 3},
      {"tanh_backward", "dx = dy * (1 - y^2)", {"dy", "y"}, 3},
      {"silu_backward", "dx = dy * s * (1 + x * (1 - s)), s = sigmoid(x)", {"dy", "x"}, 8},
      {"gelu_backward", "dx = dy * (cdf(x) + x * pdf(x)) of the normal distribution", {"dy", "x"}, 11},
  }};
  return all.at(static_cast<std::size_t>(kind));
}

template <ElementwiseKind Which>
Operation::Parameters read_elementwise(const ParameterReader& reader) {
  Elementwise elementwise;
  elementwise.kind = Which;
  reader.require("count", elementwise.count);
  reader.read("dtype", elementwise.dtype);
  return elementwise;
}

template <ElementwiseKind Which>
Kind kind() {
  const std::string name(facts(Which).name);
  return {
      {name,
       std::string(facts(Which).summary),
       name + ":count=64Mi,dtype=f16",
       {{"count",
         "elements; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
         ""},
        {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"}}},
      read_elementwise<Which>};
}

}  // namespace

std::string_view name(const Elementwise& elementwise) { return facts(elementwise.kind).name; }

void check(const Elementwise& elementwise) {
  check_range(name(elementwise), "count", elementwise.count, 1, kLargestCount);
}

void write(const Elementwise& elementwise, ParameterWriter& writer) {
  writer.write("count", elementwise.count);
  writer.write("dtype", elementwise.dtype);
}

double flops(const Elementwise& elementwise) {
  return facts(elementwise.kind).flops_per_element * static_cast<double>(elementwise.count);
}

std::vector<Operand> operands(const Elementwise& elementwise) {
  const Facts& known = facts(elementwise.kind);
  std::vector<Operand> result;
  for (const char* input : known.inputs) {
    result.push_back({input, OperandRole::input, elementwise.dtype, elementwise.count});
  }
  const bool backward = elementwise.kind >= ElementwiseKind::relu_backward;
  result.push_back({backward ? "dx" : "y", OperandRole::output, elementwise.dtype, elementwise.count});
  return result;
}

std::vector<Kind> elementwise() {
  using enum ElementwiseKind;
  return {kind<fill>(),
          kind<add>(),
          kind<mul>(),
          kind<relu>(),
          kind<relu6>(),
          kind<sigmoid>(),
          kind<tanh>(),
          kind<silu>(),
          kind<gelu>(),
          kind<relu_backward>(),
          kind<relu6_backward>(),
          kind<sigmoid_backward>(),
          kind<tanh_backward>(),
          kind<silu_backward>(),
          kind<gelu_backward>()};
}

}  // namespace jitterscope::kinds
