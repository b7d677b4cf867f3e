#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/cublas.hpp"
#include "device/cuda/operations/cublaslt_log.hpp"
#include "device/cuda/operations/matmul.hpp"
#include "device/cuda/operations/matmul_providers.hpp"

namespace jitterscope::cuda {
namespace {

// As PyTorch sets CUBLAS_WORKSPACE_CONFIG where the user did not: 32 MiB on Hopper and newer, else
// :4096:2:16:8.
Bytes workspace_size(const Context& context) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  return Bytes(major >= 9 ? 32 << 20 : (2 * 4096 + 8 * 16) << 10);
}

// Row-major products without bias. cuBLAS counts by columns: Cᵀ = op(B)ᵀ·op(A)ᵀ.
class CublasMatmul : public CudaOperation {
 public:
  CublasMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data),
        handle_(cublas_handle()),
        matmul_(matmul_of(operation())),
        types_(product_types(matmul_.dtype)),
        workspace_(context.workspaces(), workspace_size(context)),
        algorithm_(logged_algorithm([&] { run(context.stream()); })) {
    check(driver().cuCtxSynchronize(), operation().text());
    poison_outputs();  // finding out the algorithm has written them
  }

  std::string provider() const override { return "cublas"; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return workspace_.size(); }

  void run(NativeQueue queue) override {
    const Cublas& library = cublas();
    // In this order: a new stream takes the workspace away.
    check_cublas(library.cublasSetStream_v2(handle_, static_cast<cudaStream_t>(queue)), "cublasSetStream");
    check_cublas(library.cublasSetWorkspace_v2(handle_, workspace_.pointer(),
                                               static_cast<std::size_t>(workspace_.size().value())),
                 "cublasSetWorkspace");
    check_cublas(
        library.cublasSetMathMode(
            handle_, matmul_.dtype == DataType::tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
        "cublasSetMathMode");
    if (matmul_.dtype == DataType::f64) {
      multiply(1.0, 0.0);
    } else {
      multiply(1.0f, 0.0f);
    }
  }

 private:
  static cublasOperation_t transposed(bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; }

  // Sgemm and Dgemm of PyTorch's f32 and f64 are the same calls inside cuBLAS as GemmEx with these types.
  template <class Scale>
  void multiply(Scale alpha, Scale beta) {
    const auto m = static_cast<int>(matmul_.m), n = static_cast<int>(matmul_.n),
               k = static_cast<int>(matmul_.k);
    const int lda = matmul_.transpose_a ? m : k, ldb = matmul_.transpose_b ? k : n;
    const cublasOperation_t op_a = transposed(matmul_.transpose_a), op_b = transposed(matmul_.transpose_b);
    void *a = operand_pointer(0), *b = operand_pointer(1), *c = operand_pointer(2);
    if (matmul_.batch == 1) {
      check_cublas(cublas().cublasGemmEx(handle_, op_b, op_a, n, m, k, &alpha, b, types_.matrix, ldb, a,
                                         types_.matrix, lda, &beta, c, types_.matrix, n, types_.compute,
                                         CUBLAS_GEMM_DEFAULT_TENSOR_OP),
                   "cublasGemmEx");
      return;
    }
    check_cublas(cublas().cublasGemmStridedBatchedEx(handle_, op_b, op_a, n, m, k, &alpha, b, types_.matrix,
                                                     ldb, matmul_.n * matmul_.k, a, types_.matrix, lda,
                                                     matmul_.m * matmul_.k, &beta, c, types_.matrix, n,
                                                     matmul_.m * matmul_.n, static_cast<int>(matmul_.batch),
                                                     types_.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
                 "cublasGemmStridedBatchedEx");
  }

  cublasHandle_t handle_;
  Matmul matmul_;
  ProductTypes types_;
  Workspace workspace_;
  std::string algorithm_;  // last: finding it out launches the product
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context& context, const Operation& operation,
                                                         const InputData& data) {
  return std::make_unique<CublasMatmul>(context, operation, data);
}

}  // namespace jitterscope::cuda
