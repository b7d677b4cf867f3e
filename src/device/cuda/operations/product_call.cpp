#include "device/cuda/operations/product_call.hpp"

namespace jitterscope::cuda {
namespace {

// PyTorch takes a matrix with a size of one as contiguous however it is stored, and does not transpose it. In
// a batch it looks only at the strides.
ProductCall swapped_call(const Matmul& p) {
  const bool is_matrix = p.batch == 1;
  const bool transpose_a = p.transpose_a && !(is_matrix && (p.m == 1 || p.k == 1));
  const bool transpose_b = p.transpose_b && !(is_matrix && (p.n == 1 || p.k == 1));
  return {.swapped = true,
          .transpose_first = transpose_b,
          .transpose_second = transpose_a,
          .m = p.n,
          .n = p.m,
          .k = p.k,
          .first_leading = transpose_b ? p.k : p.n,
          .second_leading = transpose_a ? p.m : p.k,
          .result_leading = p.n,
          .first_step = p.n * p.k,
          .second_step = p.m * p.k,
          .result_step = p.m * p.n};
}

// For a batch of results with one column each, whose columns lie as cuBLAS wants them.
ProductCall call_of_columns(const Matmul& p) {
  const bool transpose_a = !p.transpose_a && (p.m > 1 || p.k > 1);
  const bool transpose_b = !p.transpose_b && p.k > 1;
  return {.swapped = false,
          .transpose_first = transpose_a,
          .transpose_second = transpose_b,
          .m = p.m,
          .n = 1,
          .k = p.k,
          .first_leading = transpose_a ? p.k : p.m,
          .second_leading = transpose_b ? 1 : p.k,
          .result_leading = p.m,
          .first_step = p.m * p.k,
          .second_step = p.k,
          .result_step = p.m};
}

// If rows lie apart, a matrix with a size of one is not contiguous.
ProductCall call_of_rows_apart(const Matmul& p, const RowStride& rows) {
  const std::int64_t a = rows.of(p.transpose_a ? p.m : p.k), b = rows.of(p.transpose_b ? p.k : p.n),
                     c = rows.of(p.n);
  return {.swapped = true,
          .transpose_first = p.transpose_b,
          .transpose_second = p.transpose_a,
          .m = p.n,
          .n = p.m,
          .k = p.k,
          .first_leading = b,
          .second_leading = a,
          .result_leading = c,
          .first_step = b * (p.transpose_b ? p.n : p.k),
          .second_step = a * (p.transpose_a ? p.k : p.m),
          .result_step = c * p.m};
}

}  // namespace

ProductCall product_call(const Matmul& p, const RowStride& rows) {
  if (rows != RowStride()) return call_of_rows_apart(p, rows);
  return p.batch > 1 && p.n == 1 ? call_of_columns(p) : swapped_call(p);
}

}  // namespace jitterscope::cuda
