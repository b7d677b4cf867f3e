// Matrix products by cuBLAS and by cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "device/cuda/driver.hpp"
#include "device/cuda/operations/cublas.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// With or without bias. Takes the algorithm that the operation names, else the heuristic's first.
std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context&, const Operation&,
                                                           const InputData&);
/// True if cuBLASLt's heuristic knows an algorithm; PyTorch asks this before it gives a product to cuBLAS.
bool cublaslt_proposes(const Matmul&);
/// Without a bias, or with one that is copied into the result before. cuBLAS chooses the algorithm.
std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context&, const Operation&, const InputData&);

// Describes a matrix product to cuBLASLt, with its epilogue and without memory.

/// Alignment of every operand in bytes; PyTorch tells cuBLASLt no more than this.
inline constexpr std::uint32_t kOperandAlignment = 256;

/// Activation that an epilogue applies after the bias. gelu is the approximation by tanh.
enum class ProductActivation { none, relu, gelu };

class ProductProblem {
 public:
  /// `alignment` is that of every operand, in bytes.
  ProductProblem(const Matmul& matmul, const void* bias, std::uint32_t alignment = kOperandAlignment,
                 ProductActivation activation = ProductActivation::none, const RowStride& rows = {});

  const Matmul& matmul() const { return matmul_; }
  std::vector<cublasLtMatmulHeuristicResult_t> ask_heuristic(int at_most) const;
  /// Throws FailedError if the algorithm cannot run this product, UsageError if the text is no tag.
  cublasLtMatmulHeuristicResult_t named(std::string_view tag) const;
  void run(const void* a, const void* b, void* c, const cublasLtMatmulHeuristicResult_t& choice,
           void* workspace, NativeQueue queue) const;

 private:
  cublasLtHandle_t handle_;
  Matmul matmul_;
  std::uint32_t alignment_;
  ProductDescription product_;
  MatrixDescription a_, b_, c_;
};

}  // namespace jitterscope::cuda
