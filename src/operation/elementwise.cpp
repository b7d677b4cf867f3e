#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

template <ElementwiseKind Which>
Operation::Parameters read(const ParameterReader& reader) {
  Elementwise elementwise;
  elementwise.kind = Which;
  reader.require("count", elementwise.count);
  reader.read("dtype", elementwise.dtype);
  return elementwise;
}

OperationHelp help(const std::string& kind, const std::string& summary) {
  return {kind,
          summary,
          kind + ":count=64Mi,dtype=f16",
          {{"count", "elements; Ki, Mi and Gi may follow, as after every number", ""},
           {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"}}};
}

}  // namespace

std::string_view name(const Elementwise& elementwise) {
  switch (elementwise.kind) {
    case ElementwiseKind::fill: return "fill";
    case ElementwiseKind::add: return "add";
    case ElementwiseKind::relu: return "relu";
  }
  return "?";
}

void check(const Elementwise& elementwise) {
  check_range(name(elementwise), "count", elementwise.count, 1, kLargestCount);
}

void write(const Elementwise& elementwise, ParameterWriter& writer) {
  writer.write("count", elementwise.count);
  writer.write("dtype", elementwise.dtype);
}

double flops(const Elementwise& elementwise) {
  return elementwise.kind == ElementwiseKind::fill ? 0.0 : static_cast<double>(elementwise.count);
}

std::vector<Operand> operands(const Elementwise& elementwise) {
  using enum OperandRole;
  const auto operand = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, elementwise.dtype, elementwise.count};
  };
  switch (elementwise.kind) {
    case ElementwiseKind::fill: return {operand("y", output)};
    case ElementwiseKind::add: return {operand("a", input), operand("b", input), operand("y", output)};
    case ElementwiseKind::relu: return {operand("x", input), operand("y", output)};
  }
  return {};
}

Kind fill() { return {help("fill", "writes ones, y = 1"), read<ElementwiseKind::fill>}; }
Kind add() { return {help("add", "element by element, y = a + b"), read<ElementwiseKind::add>}; }
Kind relu() { return {help("relu", "element by element, y = max(x, 0)"), read<ElementwiseKind::relu>}; }

}  // namespace jitterscope::kinds
