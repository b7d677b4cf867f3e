// cuDNN, opened at run time: its backend API, and the legacy API of batch normalization.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <cudnn.h>

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

/// Opens libcudnn.so.9 on first use. Throws MissingError with the names tried and a remedy.
const Cudnn& cudnn();

/// Returns the handle of the calling thread's current context. Like a Queue, not for two threads at once.
cudnnHandle_t cudnn_handle();

/// Returns "9.19.0".
std::string cudnn_version();

/// Returns "CUDNN_STATUS_X (what cuDNN says about it)".
std::string cudnn_failure(cudnnStatus_t status);

/// Throws FailedError "WHAT: CUDNN_STATUS_X (…)" unless success.
void check_cudnn(cudnnStatus_t status, std::string_view what);

// A descriptor of cuDNN's backend API: its attributes are set one by one, then it is finalized.

class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    check_cudnn(cudnn().cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  ~CudnnDescriptor() {
    if (descriptor_ != nullptr) cudnn().cudnnBackendDestroyDescriptor(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::span<const Value> values) {
    check_cudnn(cudnn().cudnnBackendSetAttribute(descriptor_, name, type,
                                                 static_cast<std::int64_t>(values.size()), values.data()),
                "cudnnBackendSetAttribute");
  }
  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    set(name, type, std::span<const Value>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, value); }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set(name, CUDNN_TYPE_INT64, values);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }

  void set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values) {
    std::vector<cudnnBackendDescriptor_t> handles;
    for (const CudnnDescriptor& value : values) handles.push_back(value.descriptor_);
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span<const cudnnBackendDescriptor_t>(handles));
  }

  template <class Value>
  Value get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    Value value{};
    get(name, type, std::span<Value>(&value, 1));
    return value;
  }
  /// Fills `values` with as many as there are, at most all, and returns that number.
  template <class Value>
  std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::span<Value> values) const {
    std::int64_t count = 0;
    check_cudnn(cudnn().cudnnBackendGetAttribute(
                    descriptor_, name, type, static_cast<std::int64_t>(values.size()), &count, values.data()),
                "cudnnBackendGetAttribute");
    return static_cast<std::size_t>(count) < values.size() ? static_cast<std::size_t>(count) : values.size();
  }
  std::size_t count_descriptors(cudnnBackendAttributeName_t name) const {
    std::int64_t count = 0;
    check_cudnn(cudnn().cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                                 nullptr),
                "cudnnBackendGetAttribute");
    return static_cast<std::size_t>(count);
  }
  /// Returns an attribute that consists of descriptors. cuDNN copies into descriptors that the caller made.
  std::vector<CudnnDescriptor> get_descriptors(cudnnBackendAttributeName_t name,
                                               cudnnBackendDescriptorType_t type, std::size_t at_most) const {
    std::vector<CudnnDescriptor> descriptors;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (std::size_t i = 0; i < at_most; ++i) handles.push_back(descriptors.emplace_back(type).get());
    const std::size_t filled =
        get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span<cudnnBackendDescriptor_t>(handles));
    descriptors.erase(descriptors.begin() + static_cast<std::ptrdiff_t>(filled), descriptors.end());
    return descriptors;
  }

  cudnnStatus_t try_finalize() { return cudnn().cudnnBackendFinalize(descriptor_); }
  void finalize() { check_cudnn(try_finalize(), "cudnnBackendFinalize"); }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace jitterscope::cuda
