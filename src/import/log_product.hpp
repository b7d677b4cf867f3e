// Matrix products as cuBLAS and cuBLASLt describe them: by columns, D = op(A)·op(B).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jitterscope/operation.hpp"

namespace jitterscope::library_log {

struct LoggedMatrix {
  std::string type;  ///< R_32F, R_16BF…
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int64_t batch = 1, batch_stride = 0;
};

struct LoggedProduct {
  LoggedMatrix a, b, d;
  bool transpose_a = false, transpose_b = false, bias = false;
  std::string compute;  ///< COMPUTE_32F, COMPUTE_32F_FAST_TF32…
  std::string engine;
};

/// linear where it is x·Wᵀ with a bias, else matmul. Throws UsageError that says why neither can be it.
Operation product_of(const LoggedProduct& product);

/// Of OP_N, OP_T and OP_C, which is T for real numbers. Throws UsageError for other words.
bool is_transposed(std::string_view operation);

}  // namespace jitterscope::library_log
