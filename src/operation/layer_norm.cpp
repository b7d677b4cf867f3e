#include "operation/kinds.hpp"
#include "operation/limits.hpp"
#include "operation/statistics_type.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_layer_norm(const ParameterReader& reader) {
  LayerNorm norm;
  reader.require("rows", norm.rows);
  reader.require("columns", norm.columns);
  reader.read("dtype", norm.dtype);
  reader.read("pass", norm.pass);
  return norm;
}

}  // namespace

std::string_view name(const LayerNorm&) { return "layer_norm"; }

void check(const LayerNorm& norm) {
  check_range("layer_norm", "rows", norm.rows, 1, kLargestDimension);
  check_range("layer_norm", "columns", norm.columns, 1, kLargestDimension);
  check_pass("layer_norm", norm.pass);
}

void write(const LayerNorm& norm, ParameterWriter& writer) {
  writer.write("rows", norm.rows);
  writer.write("columns", norm.columns);
  writer.write("dtype", norm.dtype);
  writer.write_unless(Pass::forward, "pass", norm.pass);
}

// Per element of x; what is done once for a row is left out. Forward: mean 1, variance 3, scaling and
// shifting 4. Backward: normalizing x again 2, dy by the weight 1, sums along the row 3, dweight and dbias
// 3, dx 4.
double flops(const LayerNorm& norm) {
  const double elements = static_cast<double>(norm.rows) * static_cast<double>(norm.columns);
  return (norm.pass == Pass::backward ? 13.0 : 8.0) * elements;
}

std::vector<Operand> operands(const LayerNorm& norm) {
  using enum OperandRole;
  const auto matrix = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, limited_product({norm.rows, norm.columns})};
  };
  const auto columns = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, norm.columns};
  };
  const auto rows = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, statistics_type(norm.dtype), norm.rows};
  };
  if (norm.pass == Pass::backward) {
    Operand deviation = rows("deviation", input);
    deviation.non_negative = true;
    return {
        matrix("dy", input),      matrix("x", input),   rows("mean", input),        deviation,
        columns("weight", input), matrix("dx", output), columns("dweight", output), columns("dbias", output)};
  }
  return {matrix("x", input),  columns("weight", input), columns("bias", input),
          matrix("y", output), rows("mean", output),     rows("deviation", output)};
}

Kind layer_norm() {
  return {{"layer_norm",
           "normalizes each row of a matrix, as torch.nn.LayerNorm",
           "layer_norm:rows=8192,columns=768,dtype=f16",
           {{"rows", "rows, as batch times sequence", ""},
            {"columns", "elements that are normalized together", ""},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16; statistics of the last two are f32", "f32"},
            {"pass", "forward or backward", "forward"}}},
          read_layer_norm};
}

}  // namespace jitterscope::kinds
