#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_linear(const ParameterReader& reader) {
  Linear linear;
  reader.require("n", linear.n);
  reader.require("in", linear.in);
  reader.require("out", linear.out);
  reader.read("bias", linear.bias);
  reader.read("dtype", linear.dtype);
  reader.read_engine(linear.engine);
  return linear;
}

}  // namespace

std::string_view name(const Linear&) { return "linear"; }

void check(const Linear& linear) {
  check_range("linear", "n", linear.n, 1, kLargestDimension);
  check_range("linear", "in", linear.in, 1, kLargestDimension);
  check_range("linear", "out", linear.out, 1, kLargestDimension);
}

void write(const Linear& linear, ParameterWriter& writer) {
  const Linear usual;
  writer.write("n", linear.n);
  writer.write("in", linear.in);
  writer.write("out", linear.out);
  writer.write_unless(usual.bias, "bias", linear.bias);
  writer.write("dtype", linear.dtype);
  writer.write_engine(linear.engine);
}

double flops(const Linear& linear) {
  const double outputs = static_cast<double>(linear.n) * static_cast<double>(linear.out);
  return outputs * (2.0 * static_cast<double>(linear.in) + (linear.bias ? 1.0 : 0.0));
}

std::vector<Operand> operands(const Linear& linear) {
  using enum OperandRole;
  std::vector<Operand> result = {{"x", input, linear.dtype, limited_product({linear.n, linear.in})},
                                 {"w", input, linear.dtype, limited_product({linear.out, linear.in})}};
  result.back().fan_in = linear.in;
  if (linear.bias) result.push_back({"bias", input, linear.dtype, linear.out});
  result.push_back({"y", output, linear.dtype, limited_product({linear.n, linear.out})});
  return result;
}

Kind linear() {
  return {{"linear",
           "fully connected layer, y = x*W^T + bias, as torch.nn.Linear",
           "linear:n=256,in=2048,out=1000,dtype=f16",
           {{"n", "rows of x", ""},
            {"in", "input features", ""},
            {"out", "output features", ""},
            {"bias", "0: without bias", "1"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f32"},
            {"engine", "pytorch, or a cuBLASLt algorithm as results name it", "pytorch"}}},
          read_linear};
}

}  // namespace jitterscope::kinds
