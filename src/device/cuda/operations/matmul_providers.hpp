// Matrix products by each of NVIDIA's two libraries.
#pragma once

#include <memory>

#include "device/cuda/context.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// With or without bias; the algorithm that the operation names, or the heuristic's first.
std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context&, const Operation&,
                                                           const InputData&);
/// Whether cuBLASLt's heuristic knows an algorithm, as PyTorch asks before it gives a product to cuBLAS.
bool cublaslt_proposes(const Matmul&);
/// Without a bias, or with one that is copied into the result before. The library chooses for itself.
std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context&, const Operation&, const InputData&);

}  // namespace jitterscope::cuda
