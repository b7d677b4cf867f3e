// Matrix products by each of NVIDIA's two libraries.
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

/// With or without bias; the algorithm that the operation names, or the heuristic's first.
std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context&, const Operation&,
                                                           const InputData&);
/// Whether cuBLASLt's heuristic knows an algorithm, as PyTorch asks before it gives a product to cuBLAS.
bool cublaslt_proposes(const Matmul&);
/// Without a bias, or with one that is copied into the result before. The library chooses for itself.
std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context&, const Operation&, const InputData&);

// A matrix product as cuBLASLt describes it, with what its epilogue does to the result, without memory.

/// Of every operand, in bytes, and the most that PyTorch tells.
inline constexpr std::uint32_t kOperandAlignment = 256;

/// What an epilogue applies behind a bias. gelu is its approximation by tanh.
enum class ProductActivation { none, relu, gelu };

class ProductProblem {
 public:
  /// `alignment`: of every operand, in bytes.
  ProductProblem(const Matmul& matmul, const void* bias, std::uint32_t alignment = kOperandAlignment,
                 ProductActivation activation = ProductActivation::none, const RowStride& rows = {});

  const Matmul& matmul() const { return matmul_; }
  std::vector<cublasLtMatmulHeuristicResult_t> ask_heuristic(int at_most) const;
  /// Throws FailedError where it cannot run this product, UsageError where the text is no tag.
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
