// cuBLASLt, opened at run time.
#pragma once

#include <cublasLt.h>

#include <string_view>
#include <utility>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

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

/// Opens libcublasLt.so.13 or .12 on first use. Throws MissingError with what was looked for and what to do.
const CublasLt& cublaslt();

/// The handle of the calling thread's current context.
cublasLtHandle_t cublaslt_handle();

/// Throws FailedError "WHAT: CUBLAS_STATUS_X" unless success.
void check_cublaslt(cublasStatus_t status, std::string_view what);

/// Owns one of cuBLASLt's descriptions (of a product, a matrix or a preference), which all have the same
/// three verbs.
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

}  // namespace jitterscope::cuda
