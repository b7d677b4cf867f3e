#include "import/log_product.hpp"

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::library_log {
namespace {

DataType data_type_of(const LoggedProduct& product) {
  const std::string &type = product.a.type, &compute = product.compute;
  if (product.b.type != type || product.d.type != type) {
    throw UsageError(fmt::format("its matrices are of {}, {} and {}, and matmul's are of one type", type,
                                 product.b.type, product.d.type));
  }
  if (type == "R_32F" && compute == "COMPUTE_32F") return DataType::f32;
  if (type == "R_32F" && compute == "COMPUTE_32F_FAST_TF32") return DataType::tf32;
  if (type == "R_16F" && compute == "COMPUTE_32F") return DataType::f16;
  if (type == "R_16BF" && compute == "COMPUTE_32F") return DataType::bf16;
  if (type == "R_64F" && compute == "COMPUTE_64F") return DataType::f64;
  throw UsageError(fmt::format("it computes {} in {}, which matmul does not", type, compute));
}

void check_dense(const LoggedMatrix& matrix, std::string_view name, std::int64_t batch) {
  if (matrix.leading != matrix.rows && matrix.columns != 1) {
    throw UsageError(fmt::format("{} is part of a larger matrix (ld={} for {} rows), and matmul's are dense",
                                 name, matrix.leading, matrix.rows));
  }
  if (matrix.batch != batch) throw UsageError(fmt::format("{} has another batch than D", name));
  if (batch > 1 && matrix.batch_stride != matrix.rows * matrix.columns) {
    throw UsageError(
        fmt::format("the matrices of its batch are not one after another in {}, and matmul's are", name));
  }
}

}  // namespace

Operation product_of(const LoggedProduct& product) {
  const LoggedMatrix &a = product.a, &b = product.b, &d = product.d;
  const std::int64_t k = product.transpose_a ? a.rows : a.columns;
  const bool fits = (product.transpose_a ? a.columns : a.rows) == d.rows &&
                    (product.transpose_b ? b.rows : b.columns) == d.columns &&
                    (product.transpose_b ? b.columns : b.rows) == k;
  if (!fits) throw UsageError("the shapes of its matrices do not fit each other");
  // A matrix by columns is its transpose by rows: Dᵀ = op(B)ᵀ·op(A)ᵀ, so that the factors change places.
  const Matmul matmul{.m = d.columns,
                      .n = d.rows,
                      .k = k,
                      .batch = d.batch,
                      .transpose_a = product.transpose_b,
                      .transpose_b = product.transpose_a,
                      .bias = product.bias,
                      .dtype = data_type_of(product),
                      .engine = product.engine};
  Operation operation(matmul);  // checks the numbers before they are multiplied
  check_dense(a, "A", d.batch);
  check_dense(b, "B", d.batch);
  check_dense(d, "D", d.batch);
  if (matmul.bias && matmul.transpose_b && !matmul.transpose_a && matmul.batch == 1) {
    return Operation(Linear{.n = matmul.m,
                            .in = matmul.k,
                            .out = matmul.n,
                            .bias = true,
                            .dtype = matmul.dtype,
                            .engine = matmul.engine});
  }
  return operation;
}

bool is_transposed(std::string_view operation) {
  if (operation == "OP_N") return false;
  if (operation == "OP_T" || operation == "OP_C") return true;
  throw UsageError(fmt::format("it applies {} to a matrix, which matmul does not", operation));
}

}  // namespace jitterscope::library_log
