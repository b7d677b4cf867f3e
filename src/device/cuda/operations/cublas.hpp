// cuBLAS, opened at run time.
#pragma once

#include <cublas_v2.h>

#include <string_view>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

// clang-format off
#define JITTERSCOPE_CUBLAS_FUNCTIONS(X)                                                    \
  X(cublasCreate_v2)                                                                       \
  X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasSetMathMode) X(cublasGetProperty) \
      X(cublasGetStatusString)
// clang-format on

// Written out, since the header overloads both names for C++.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                              const void* alpha, const void* a, cudaDataType, int lda, const void* b,
                              cudaDataType, int ldb, const void* beta, void* c, cudaDataType, int ldc,
                              cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedBatchedEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m,
                                            int n, int k, const void* alpha, const void* a, cudaDataType,
                                            int lda, long long stride_a, const void* b, cudaDataType, int ldb,
                                            long long stride_b, const void* beta, void* c, cudaDataType,
                                            int ldc, long long stride_c, int batch, cublasComputeType_t,
                                            cublasGemmAlgo_t);

/// The functions, each under its own name: cublas().cublasGemmEx(...).
struct Cublas {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUBLAS_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
  GemmEx* cublasGemmEx = nullptr;
  GemmStridedBatchedEx* cublasGemmStridedBatchedEx = nullptr;
};

/// Opens libcublas.so.13 or .12 on first use. Throws MissingError with what was looked for and what to do.
const Cublas& cublas();

/// The handle of the calling thread's current context.
cublasHandle_t cublas_handle();

/// Throws FailedError "WHAT: CUBLAS_STATUS_X" unless success.
void check_cublas(cublasStatus_t status, std::string_view what);

}  // namespace jitterscope::cuda
