#include <fmt/format.h>

#include <optional>
#include <vector>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/gpu_plan.hpp"
#include "device/cuda/operations/cublas.hpp"
#include "device/cuda/operations/cublaslt_log.hpp"
#include "device/cuda/operations/matmul.hpp"
#include "device/cuda/operations/matmul_providers.hpp"
#include "device/cuda/operations/product_call.hpp"

namespace jitterscope::cuda {
namespace {

// As PyTorch sets CUBLAS_WORKSPACE_CONFIG where the user did not: 32 MiB on the data centre's GPUs from
// Hopper on (9.0, 10.x), else :4096:2:16:8.
Bytes workspace_size(const Context& context) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  return Bytes(major == 9 || major == 10 ? 32 << 20 : (2 * 4096 + 8 * 16) << 10);
}

// PyTorch's way where no epilogue of cuBLASLt adds the bias: it is copied into C, and the product added to
// it.
class BiasCopy {
 public:
  /// `operands`: a, b, bias and c.
  BiasCopy(const Context& context, const Matmul& matmul, const std::vector<CUdeviceptr>& operands)
      : bias_(operands.at(2)),
        c_(operands.at(3)),
        size_(static_cast<std::size_t>(matmul.n * element_size(matmul.dtype).value())) {
    if (matmul.m > 1) plan_bias_broadcast(rows_.emplace(context, operands), matmul);
  }
  /// One row is a plain copy in PyTorch as well; for more it has a kernel of its own.
  bool is_stand_in() const { return rows_.has_value(); }
  void run(CUstream stream) {
    if (rows_) return rows_->run(stream);
    check(driver().cuMemcpyDtoDAsync(c_, bias_, size_, stream), "copying the bias");
  }

 private:
  CUdeviceptr bias_, c_;
  std::size_t size_;
  std::optional<GpuPlan> rows_;
};

// GemmEx looks at the addresses when it is called. The bias is copied by our own kernel.
Bytes alignment_of(const Matmul& matmul) {
  constexpr Bytes kVector(16);
  return matmul.bias ? kVector : element_size(matmul.dtype);
}

// Our own kernel copies the bias to rows that follow each other.
RowsApart rows_apart(const Matmul& matmul) { return matmul.bias ? RowsApart::never : RowsApart::as_asked; }

class CublasMatmul : public CudaOperation {
 public:
  CublasMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), alignment_of(matmul_of(requested)),
                      rows_apart(matmul_of(requested))),
        handle_(cublas_handle()),
        matmul_(matmul_of(operation())),
        types_(product_types(matmul_.dtype)),
        call_(product_call(matmul_, data.rows)),
        bias_(make_bias()),
        workspace_(context, workspace_size(context)),
        algorithm_(logged_algorithm([&] { run(context.stream()); })) {
    check(driver().cuCtxSynchronize(), operation().text());
    poison_outputs();  // finding out the algorithm has written them
  }

  std::string provider() const override { return "cublas"; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return workspace_.size(); }
  bool is_stand_in() const override { return bias_ && bias_->is_stand_in(); }

  void run(NativeQueue queue) override {
    if (bias_) bias_->run(static_cast<CUstream>(queue));
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
      multiply(1.0, bias_ ? 1.0 : 0.0);
    } else {
      multiply(1.0f, bias_ ? 1.0f : 0.0f);
    }
  }

 private:
  std::optional<BiasCopy> make_bias() const {
    if (!matmul_.bias) return std::nullopt;
    return BiasCopy(context(), matmul_, {operand(0), operand(1), operand(2), operand(3)});
  }

  // Sgemm and Dgemm of PyTorch's f32 and f64 are the same calls inside cuBLAS as GemmEx with these types.
  template <class Scale>
  void multiply(Scale alpha, Scale beta) {
    const auto operation_of = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto narrow = [](std::int64_t size) { return static_cast<int>(size); };
    const cublasOperation_t first_operation = operation_of(call_.transpose_first),
                            second_operation = operation_of(call_.transpose_second);
    const int m = narrow(call_.m), n = narrow(call_.n), k = narrow(call_.k), batch = narrow(matmul_.batch);
    const int first_leading = narrow(call_.first_leading), second_leading = narrow(call_.second_leading),
              leading = narrow(call_.result_leading);
    const void *first = operand_pointer(call_.swapped ? 1 : 0),
               *second = operand_pointer(call_.swapped ? 0 : 1);
    void* c = operand_pointer(bias_ ? 3 : 2);
    if (batch == 1) {
      check_cublas(
          cublas().cublasGemmEx(handle_, first_operation, second_operation, m, n, k, &alpha, first,
                                types_.matrix, first_leading, second, types_.matrix, second_leading, &beta, c,
                                types_.matrix, leading, types_.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
          "cublasGemmEx");
      return;
    }
    check_cublas(
        cublas().cublasGemmStridedBatchedEx(
            handle_, first_operation, second_operation, m, n, k, &alpha, first, types_.matrix, first_leading,
            call_.first_step, second, types_.matrix, second_leading, call_.second_step, &beta, c,
            types_.matrix, leading, call_.result_step, batch, types_.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
        "cublasGemmStridedBatchedEx");
  }

  cublasHandle_t handle_;
  Matmul matmul_;
  ProductTypes types_;
  ProductCall call_;
  std::optional<BiasCopy> bias_;
  Workspace workspace_;
  std::string algorithm_;  // last: finding it out launches the product
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context& context, const Operation& operation,
                                                         const InputData& data) {
  return std::make_unique<CublasMatmul>(context, operation, data);
}

}  // namespace jitterscope::cuda
