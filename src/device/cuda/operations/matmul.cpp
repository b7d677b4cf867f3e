#include "device/cuda/operations/matmul.hpp"

#include "device/cuda/operations/cublas.hpp"
#include "device/cuda/operations/cublaslt.hpp"
#include "device/cuda/operations/matmul_providers.hpp"
#include "device/cuda/operations/operations.hpp"
#include "operation/pytorch_rules.hpp"

namespace jitterscope::cuda {

ProductTypes product_types(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DataType::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::f16: return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::bf16: return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

Matmul matmul_of(const Operation& operation) {
  if (const auto* matmul = std::get_if<Matmul>(&operation.parameters())) return *matmul;
  const auto& linear = std::get<Linear>(operation.parameters());
  return {.m = linear.n,
          .n = linear.out,
          .k = linear.in,
          .batch = 1,
          .transpose_a = false,
          .transpose_b = true,
          .bias = linear.bias,
          .dtype = linear.dtype,
          .engine = linear.engine};
}

std::unique_ptr<PreparedOperation> prepare_matmul(const Context& context, const Operation& operation,
                                                  const InputData& data) {
  const Matmul matmul = matmul_of(operation);
  // Asked for before the operands are allocated: a missing library is the clearer reason.
  cublaslt();
  context.make_current();  // cuBLASLt may be asked before there are operands
  // A bias for each product of a batch is no operator of PyTorch: cuBLASLt's epilogue adds it.
  const bool only_cublaslt = !matmul.engine.empty() || (matmul.bias && matmul.batch > 1);
  if (only_cublaslt || (pytorch_uses_bias_epilogue(matmul) && cublaslt_proposes(matmul)))
    return prepare_cublaslt_matmul(context, operation, data);
  cublas();
  return prepare_cublas_matmul(context, operation, data);
}

}  // namespace jitterscope::cuda
