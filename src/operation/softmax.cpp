#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

template <bool Logarithm>
Operation::Parameters read_softmax(const ParameterReader& reader) {
  Softmax softmax;
  softmax.logarithm = Logarithm;
  reader.require("rows", softmax.rows);
  reader.require("columns", softmax.columns);
  reader.read("dtype", softmax.dtype);
  reader.read("pass", softmax.pass);
  return softmax;
}

OperationHelp softmax_help(const std::string& kind, const std::string& summary) {
  return {kind,
          summary,
          kind + ":rows=8192,columns=1024,dtype=f16",
          {{"rows", "rows, each apart", ""},
           {"columns", "elements of a row", ""},
           {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
           {"pass", "forward (y from x) or backward (dx from dy, y)", "forward"}}};
}

}  // namespace

std::string_view name(const Softmax& softmax) { return softmax.logarithm ? "log_softmax" : "softmax"; }

void check(const Softmax& softmax) {
  check_range(name(softmax), "rows", softmax.rows, 1, kLargestDimension);
  check_range(name(softmax), "columns", softmax.columns, 1, kLargestDimension);
  check_pass(name(softmax), softmax.pass);
}

void write(const Softmax& softmax, ParameterWriter& writer) {
  writer.write("rows", softmax.rows);
  writer.write("columns", softmax.columns);
  writer.write("dtype", softmax.dtype);
  writer.write_unless(Pass::forward, "pass", softmax.pass);
}

// Per element. Forward: maximum, its subtraction, exponential, sum, and the division (or the subtraction of
// the logarithm). Backward: the sum along the row 2 (1 and an exponential), dx 2.
double flops(const Softmax& softmax) {
  const double elements = static_cast<double>(softmax.rows) * static_cast<double>(softmax.columns);
  return (softmax.pass == Pass::backward ? 4.0 : 5.0) * elements;
}

std::vector<Operand> operands(const Softmax& softmax) {
  using enum OperandRole;
  const auto matrix = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, softmax.dtype, limited_product({softmax.rows, softmax.columns})};
  };
  if (softmax.pass == Pass::backward) return {matrix("dy", input), matrix("y", input), matrix("dx", output)};
  return {matrix("x", input), matrix("y", output)};
}

std::vector<Kind> softmaxes() {
  return {{softmax_help("softmax", "exp(x) of each row, divided by its sum"), read_softmax<false>},
          {softmax_help("log_softmax", "the logarithm of softmax"), read_softmax<true>}};
}

}  // namespace jitterscope::kinds
