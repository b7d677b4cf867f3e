// What the two libraries of matrix products share.
#pragma once

#include <cublasLt.h>

#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

struct ProductTypes {
  cudaDataType_t matrix, scale;
  cublasComputeType_t compute;
};
ProductTypes product_types(DataType dtype);

/// A linear layer is a product with the transpose of its weights.
Matmul matmul_of(const Operation& operation);

}  // namespace jitterscope::cuda
