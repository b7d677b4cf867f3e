// cuBLASLt's algorithms as tags: algo21_tile=128x128_stages=16x4_splitk=2_reduction=2_cluster=2x1x1.
#pragma once

#include <cublasLt.h>

#include <string>
#include <string_view>

#include "device/cuda/operations/matmul.hpp"

namespace jitterscope::cuda {

/// In cuBLASLt's own words; what is zero there (its own choice) is left out.
std::string algorithm_tag(const cublasLtMatmulAlgo_t& algorithm);

/// Sets what a tag says after the algorithm's number. Throws UsageError for a part that is none, FailedError
/// where cuBLASLt refuses a value.
void configure(cublasLtMatmulAlgo_t& algorithm, std::string_view tag);

/// Throws UsageError for a text that is no tag, FailedError where this cuBLASLt has no such algorithm.
cublasLtMatmulAlgo_t algorithm_of_tag(cublasLtHandle_t handle, const ProductTypes& types,
                                      std::string_view tag);

}  // namespace jitterscope::cuda
