#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_matmul(const ParameterReader& reader) {
  Matmul matmul;
  reader.require("m", matmul.m);
  reader.require("n", matmul.n);
  reader.require("k", matmul.k);
  reader.read("batch", matmul.batch);
  reader.read("ta", matmul.transpose_a);
  reader.read("tb", matmul.transpose_b);
  reader.read("bias", matmul.bias);
  reader.read("dtype", matmul.dtype);
  reader.read_engine(matmul.engine);
  return matmul;
}

}  // namespace

std::string_view name(const Matmul&) { return "matmul"; }

void check(const Matmul& matmul) {
  check_range("matmul", "m", matmul.m, 1, kLargestDimension);
  check_range("matmul", "n", matmul.n, 1, kLargestDimension);
  check_range("matmul", "k", matmul.k, 1, kLargestDimension);
  check_range("matmul", "batch", matmul.batch, 1, kLargestDimension);
}

void write(const Matmul& matmul, ParameterWriter& writer) {
  const Matmul usual;
  writer.write("m", matmul.m);
  writer.write("n", matmul.n);
  writer.write("k", matmul.k);
  writer.write_unless(usual.batch, "batch", matmul.batch);
  writer.write_unless(usual.transpose_a, "ta", matmul.transpose_a);
  writer.write_unless(usual.transpose_b, "tb", matmul.transpose_b);
  writer.write_unless(usual.bias, "bias", matmul.bias);
  writer.write("dtype", matmul.dtype);
  writer.write_engine(matmul.engine);
}

double flops(const Matmul& matmul) {
  const double outputs =
      static_cast<double>(matmul.batch) * static_cast<double>(matmul.m) * static_cast<double>(matmul.n);
  return outputs * (2.0 * static_cast<double>(matmul.k) + (matmul.bias ? 1.0 : 0.0));
}

std::vector<Operand> operands(const Matmul& matmul) {
  using enum OperandRole;
  std::vector<Operand> result = {
      {"a", input, matmul.dtype, limited_product({matmul.batch, matmul.m, matmul.k})},
      {"b", input, matmul.dtype, limited_product({matmul.batch, matmul.k, matmul.n})}};
  result.back().fan_in = matmul.k;
  if (matmul.bias) result.push_back({"bias", input, matmul.dtype, matmul.n});
  result.push_back({"c", output, matmul.dtype, limited_product({matmul.batch, matmul.m, matmul.n})});
  return result;
}

Kind matmul() {
  return {{"matmul",
           "matrix product, C = A*B, row-major",
           "matmul:m=4096,n=4096,k=4096,dtype=bf16",
           {{"m", "rows of A and C", ""},
            {"n", "columns of B and C", ""},
            {"k", "columns of A, rows of B", ""},
            {"batch", "independent products", "1"},
            {"ta", "1: A is stored transposed, k x m", "0"},
            {"tb", "1: B is stored transposed, n x k", "0"},
            {"bias", "1: a vector of n is added to each row", "0"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f32"},
            {"engine", "pytorch, or a cuBLASLt algorithm as results name it", "pytorch"}}},
          read_matmul};
}

}  // namespace jitterscope::kinds
