// cuBLAS and cuBLASLt, opened at run time: what all matrix products share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <cublasLt.h>
#include <cublas_v2.h>

#include "base/shared_library.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

struct ProductTypes {
  cudaDataType_t matrix, scale;
  cublasComputeType_t compute;
};
ProductTypes product_types(DataType dtype);

// cuBLAS, opened at run time.

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

/// Opens libcublas.so.13 or .12 on first use. Throws MissingError with the names tried and a remedy.
const Cublas& cublas();

/// Returns the handle of the calling thread's current context.
cublasHandle_t cublas_handle();

/// Throws FailedError "WHAT: CUBLAS_STATUS_X" unless success.
void check_cublas(cublasStatus_t status, std::string_view what);

// cuBLASLt, opened at run time.

// clang-format off
#define JITTERSCOPE_CUBLASLT_FUNCTIONS(X)                                                          \
  X(cublasLtCreate)                                                                                \
  X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtMatmul) X(cublasLtMatmulDescCreate)   \
      X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate) \
          X(cublasLtMatrixLayoutDestroy) X(cublasLtMatrixLayoutSetAttribute)                       \
              X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)                 \
                  X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic)        \
                      X(cublasLtMatmulAlgoConfigGetAttribute) X(cublasLtMatmulAlgoInit)            \
                          X(cublasLtMatmulAlgoConfigSetAttribute) X(cublasLtMatmulAlgoCheck)       \
                              X(cublasLtLoggerSetCallback) X(cublasLtLoggerSetMask) X(cublasLtLoggerOpenFile)
// clang-format on

/// The functions, each under its own name: cublaslt().cublasLtMatmul(...).
struct CublasLt {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUBLASLT_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

/// Opens libcublasLt.so.13 or .12 on first use. Throws MissingError with the names tried and a remedy.
const CublasLt& cublaslt();

/// Returns the handle of the calling thread's current context.
cublasLtHandle_t cublaslt_handle();

/// Throws FailedError "WHAT: CUBLAS_STATUS_X" unless success.
void check_cublaslt(cublasStatus_t status, std::string_view what);

/// Owns one of cuBLASLt's descriptions (of a product, a matrix or a preference), which all have the same
/// functions to create, set and destroy them.
template <class Handle, auto kDestroy, auto kSetAttribute>
class CublasLtDescription {
 public:
  explicit CublasLtDescription(Handle handle) : handle_(handle) {}
  ~CublasLtDescription() {
    if (handle_ != nullptr) (cublaslt().*kDestroy)(handle_);
  }
  CublasLtDescription(CublasLtDescription&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  CublasLtDescription& operator=(CublasLtDescription&&) = delete;

  Handle get() const { return handle_; }
  template <class Attribute, class Value>
  void set(Attribute attribute, const Value& value) {
    check_cublaslt((cublaslt().*kSetAttribute)(handle_, attribute, &value, sizeof(value)),
                   "setting an attribute of cuBLASLt");
  }

 private:
  Handle handle_;
};

using ProductDescription = CublasLtDescription<cublasLtMatmulDesc_t, &CublasLt::cublasLtMatmulDescDestroy,
                                               &CublasLt::cublasLtMatmulDescSetAttribute>;
using MatrixDescription = CublasLtDescription<cublasLtMatrixLayout_t, &CublasLt::cublasLtMatrixLayoutDestroy,
                                              &CublasLt::cublasLtMatrixLayoutSetAttribute>;
using Preference = CublasLtDescription<cublasLtMatmulPreference_t, &CublasLt::cublasLtMatmulPreferenceDestroy,
                                       &CublasLt::cublasLtMatmulPreferenceSetAttribute>;

// cuBLASLt's algorithms as tags: algo21_tile=128x128_stages=16x4_splitk=2_reduction=2_cluster=2x1x1.

/// Returns the tag in cuBLASLt's own words; values of zero (its own choice) are left out.
std::string algorithm_tag(const cublasLtMatmulAlgo_t& algorithm);

/// Sets the parts of a tag after the algorithm's number. Throws UsageError for an unknown part, FailedError
/// if cuBLASLt refuses a value.
void configure(cublasLtMatmulAlgo_t& algorithm, std::string_view tag);

/// Throws UsageError if the text is no tag, FailedError if this cuBLASLt has no such algorithm.
cublasLtMatmulAlgo_t algorithm_of_tag(cublasLtHandle_t handle, const ProductTypes& types,
                                      std::string_view tag);

// cuBLAS tells its choice only in the log of cuBLASLt, which it calls.

/// Returns the algorithm of the last product that `work` launched, as a tag; empty if cuBLASLt logged none.
/// Ends any log that the user's environment asked cuBLASLt for.
std::string logged_algorithm(const std::function<void()>& work);

/// Returns the tag of a line of cuBLASLt's log; empty if it has no `algo=[…]`.
std::string algorithm_tag_of_log(std::string_view line);

}  // namespace jitterscope::cuda
