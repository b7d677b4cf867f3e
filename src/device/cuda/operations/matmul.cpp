#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/cublaslt.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

struct Types {
  cudaDataType_t matrix, scale;
  cublasComputeType_t compute;
};

Types types_of(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DataType::i64:
    case DataType::f32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::f16: return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::bf16: return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
  return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
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
          .dtype = linear.dtype};
}

// A row-major rows×columns matrix is its transpose to cuBLASLt, which counts by columns.
MatrixDescription describe_matrix(const Matmul& matmul, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublaslt(cublaslt().cublasLtMatrixLayoutCreate(&layout, types_of(matmul.dtype).matrix,
                                                       static_cast<std::uint64_t>(columns),
                                                       static_cast<std::uint64_t>(rows), columns),
                 "cublasLtMatrixLayoutCreate");
  MatrixDescription description(layout);
  description.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matmul.batch));
  description.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * columns});
  return description;
}

ProductDescription describe_product(const Matmul& matmul, const void* bias) {
  const Types types = types_of(matmul.dtype);
  cublasLtMatmulDesc_t handle = nullptr;
  check_cublaslt(cublaslt().cublasLtMatmulDescCreate(&handle, types.compute, types.scale),
                 "cublasLtMatmulDescCreate");
  ProductDescription product(handle);
  const auto set_transpose = [&](cublasLtMatmulDescAttributes_t name, bool transpose) {
    product.set(name, static_cast<std::int32_t>(transpose ? CUBLAS_OP_T : CUBLAS_OP_N));
  };
  // Cᵀ = op(B)ᵀ·op(A)ᵀ: the factors change places.
  set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, matmul.transpose_b);
  set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, matmul.transpose_a);
  if (matmul.bias) {
    // The epilogue adds one value per row of Cᵀ, which is one per column of C.
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return product;
}

// As PyTorch gives cuBLASLt: its own default of 1024 KiB, and on Hopper and newer the 32 MiB that cuBLAS has.
std::uint64_t largest_workspace(const Context& context) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  return major >= 9 ? 32u << 20 : 1u << 20;
}

Preference make_preference(const Context& context) {
  cublasLtMatmulPreference_t handle = nullptr;
  check_cublaslt(cublaslt().cublasLtMatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate");
  Preference preference(handle);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, largest_workspace(context));
  constexpr std::uint32_t kAlignment = 256;  // of every operand, and the most that PyTorch tells
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.set(name, kAlignment);
  }
  return preference;
}

// Row-major products by cuBLASLt. PyTorch runs those without bias by cuBLAS, which chooses for itself.
class CublasLtMatmul : public CudaOperation {
 public:
  CublasLtMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data),
        handle_(cublaslt_handle()),
        matmul_(matmul_of(operation())),
        product_(describe_product(matmul_, operand_pointer(2))),
        a_(matmul_.transpose_a ? describe_matrix(matmul_, matmul_.k, matmul_.m)
                               : describe_matrix(matmul_, matmul_.m, matmul_.k)),
        b_(matmul_.transpose_b ? describe_matrix(matmul_, matmul_.n, matmul_.k)
                               : describe_matrix(matmul_, matmul_.k, matmul_.n)),
        c_(describe_matrix(matmul_, matmul_.m, matmul_.n)),
        choice_(choose()) {
    if (choice_.workspaceSize > 0) {
      workspace_ = DeviceMemory(Bytes(static_cast<std::int64_t>(choice_.workspaceSize)));
    }
  }

  std::string provider() const override { return "cublaslt"; }
  std::string algorithm() const override { return describe_algorithm(choice_.algo); }
  Bytes workspace() const override { return workspace_.size(); }

  void run(NativeQueue queue) override {
    if (matmul_.dtype == DataType::f64) {
      multiply(1.0, 0.0, queue);
    } else {
      multiply(1.0f, 0.0f, queue);
    }
  }

 private:
  template <class Scale>
  void multiply(Scale alpha, Scale beta, NativeQueue queue) {
    void* c = operand_pointer(matmul_.bias ? 3 : 2);
    check_cublaslt(cublaslt().cublasLtMatmul(handle_, product_.get(), &alpha, operand_pointer(1), b_.get(),
                                             operand_pointer(0), a_.get(), &beta, c, c_.get(), c, c_.get(),
                                             &choice_.algo, workspace_.pointer(), choice_.workspaceSize,
                                             static_cast<cudaStream_t>(queue)),
                   "cublasLtMatmul");
  }

  cublasLtMatmulHeuristicResult_t choose() const {
    const Preference preference = make_preference(context());
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        cublaslt().cublasLtMatmulAlgoGetHeuristic(handle_, product_.get(), b_.get(), a_.get(), c_.get(),
                                                  c_.get(), preference.get(), 1, &result, &found);
    if (status == CUBLAS_STATUS_SUCCESS && found == 1 && result.state == CUBLAS_STATUS_SUCCESS) return result;
    throw FailedError(fmt::format(
        "cuBLASLt has no algorithm for {} on this GPU ({})", operation().text(),
        cublaslt().cublasLtGetStatusString(status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED
                                                                           : status)));
  }

  cublasLtHandle_t handle_;
  Matmul matmul_;
  ProductDescription product_;
  MatrixDescription a_, b_, c_;
  cublasLtMatmulHeuristicResult_t choice_;
  DeviceMemory workspace_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_matmul(const Context& context, const Operation& operation,
                                                  const InputData& data) {
  cublaslt();  // before the operands are allocated: a missing library is the clearer reason
  return std::make_unique<CublasLtMatmul>(context, operation, data);
}

}  // namespace jitterscope::cuda
