// The call of cuBLAS that PyTorch makes for a matrix product.
#pragma once

#include <cstdint>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// cuBLAS stores by columns, so a matrix stored by rows is a transpose to it. m, n and k are the call's own.
struct ProductCall {
  bool swapped = true;  ///< computes Cᵀ = op(B)ᵀ·op(A)ᵀ with B as first factor; else A is the first
  bool transpose_first = false, transpose_second = false;
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t first_leading = 1, second_leading = 1, result_leading = 1;
  /// Number of elements from one matrix of a batch to the next.
  std::int64_t first_step = 1, second_step = 1, result_step = 1;
};

/// Returns what prepare_matrix_for_cublas, prepare_batch_matrix_for_cublas
/// (aten/src/ATen/native/cuda/Blas.cpp, PyTorch 1.13 to 2.11) and _cublasAdjustLdLevel3 (cuda/CUDABlas.cpp)
/// give for packed matrices. With other transposes of the same numbers cuBLAS would choose another algorithm.
/// Matrices whose rows lie apart are passed as stored.
ProductCall product_call(const Matmul&, const RowStride& rows = {});

}  // namespace jitterscope::cuda
