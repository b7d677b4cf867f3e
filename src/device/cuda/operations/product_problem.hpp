// A matrix product as cuBLASLt describes it, with what its epilogue does to the result, without memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/cuda/operations/cublaslt.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

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
