// cuDNN, opened at run time: its backend API, and the legacy one of batch normalization.
#pragma once

#include <cudnn.h>

#include <string_view>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

// clang-format off
#define JITTERSCOPE_CUDNN_FUNCTIONS(X)                                                             \
  X(cudnnCreate)                                                                                   \
  X(cudnnSetStream) X(cudnnGetVersion) X(cudnnGetErrorString) X(cudnnGetLastErrorString)           \
      X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendSetAttribute) \
          X(cudnnBackendGetAttribute) X(cudnnBackendFinalize) X(cudnnBackendExecute)        \
      X(cudnnCreateTensorDescriptor) X(cudnnDestroyTensorDescriptor) X(cudnnSetTensor4dDescriptorEx) \
      X(cudnnDeriveBNTensorDescriptor) X(cudnnBatchNormalizationForwardTrainingEx)                   \
      X(cudnnBatchNormalizationBackwardEx) X(cudnnBatchNormalizationForwardInference)                \
      X(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)                                    \
      X(cudnnGetBatchNormalizationBackwardExWorkspaceSize)                                           \
      X(cudnnGetBatchNormalizationTrainingExReserveSpaceSize)
// clang-format on

/// The functions, each under its own name: cudnn().cudnnBackendFinalize(...).
struct Cudnn {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUDNN_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

/// Opens libcudnn.so.9 on first use. Throws MissingError with what was looked for and what to do.
const Cudnn& cudnn();

/// The handle of the calling thread's current context. Not for two threads at once, as a Queue.
cudnnHandle_t cudnn_handle();

/// "9.19.0"
std::string cudnn_version();

/// "CUDNN_STATUS_X (what cuDNN says about it)"
std::string cudnn_failure(cudnnStatus_t status);

/// Throws FailedError "WHAT: CUDNN_STATUS_X (…)" unless success.
void check_cudnn(cudnnStatus_t status, std::string_view what);

}  // namespace jitterscope::cuda
