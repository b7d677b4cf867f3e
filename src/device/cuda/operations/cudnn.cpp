#include "device/cuda/operations/cudnn.hpp"

#include <array>

#include <fmt/format.h>

#include "base/shared_library.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cudnn(Cudnn& functions) {
  JITTERSCOPE_CUDNN_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

FunctionTable<Cudnn> open_cudnn() {
  const std::vector<std::string> folders = nvidia_library_folders();
  // cuDNN's engine libraries look for these two among the loaded libraries, because a wheel's copy is on no
  // search path.
  SharedLibrary::open(names_for_driver({"libcublasLt.so.13", "libcublasLt.so.12"}), folders, nullptr);
  SharedLibrary::open(names_for_driver({"libnvrtc.so.13", "libnvrtc.so.12"}), folders, nullptr);
  FunctionTable<Cudnn> table = open_functions({"libcudnn.so.9"}, look_up_cudnn);
  if (!table.path.empty() && !table.problem.empty()) table.problem += ": cuDNN 9.0 or newer is needed";
  return table;
}

const FunctionTable<Cudnn>& opened_cudnn() {
  static const FunctionTable<Cudnn> opened = open_cudnn();
  return opened;
}

}  // namespace

const Cudnn& cudnn() {
  return opened_cudnn().require("convolutions, batch normalization and attention need cuDNN 9",
                                "nvidia-cudnn-cu13, or nvidia-cudnn-cu12 for CUDA 12");
}

cudnnHandle_t cudnn_handle() {
  static HandleCache<cudnnHandle_t> handles;
  return handles.get([] {
    cudnnHandle_t handle = nullptr;
    check_cudnn(cudnn().cudnnCreate(&handle), "cudnnCreate");
    return handle;
  });
}

std::string cudnn_version() {
  const std::size_t version = cudnn().cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnn_failure(cudnnStatus_t status) {
  std::array<char, 1024> detail{};
  cudnn().cudnnGetLastErrorString(detail.data(), detail.size());
  std::string text = cudnn().cudnnGetErrorString(status);
  if (detail[0] != '\0') text += fmt::format(" ({})", detail.data());
  return text;
}

void check_cudnn(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cudnn_failure(status)));
}

LibraryInfo cudnn_library() {
  const auto& opened = opened_cudnn();
  LibraryInfo info{.name = "cudnn", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) info.version = cudnn_version();
  return info;
}

// Batch normalization by cuDNN's legacy API, with the same calls as PyTorch.

namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;
constexpr cudnnBatchNormOps_t kOps = CUDNN_BATCHNORM_OPS_BN;

class TensorDescriptor {
 public:
  TensorDescriptor() {
    check_cudnn(cudnn().cudnnCreateTensorDescriptor(&descriptor_), "a tensor descriptor");
  }
  ~TensorDescriptor() { cudnn().cudnnDestroyTensorDescriptor(descriptor_); }
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
  operator cudnnTensorDescriptor_t() const { return descriptor_; }  // NOLINT(google-explicit-constructor)

 private:
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

cudnnDataType_t type_of(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return CUDNN_DATA_DOUBLE;
    case DataType::f16: return CUDNN_DATA_HALF;
    default: return CUDNN_DATA_FLOAT;
  }
}

cudnnBatchNormMode_t mode_of(const BatchNorm& norm) {
  return pytorch_uses_persistent_mode(norm) ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
}

/// The factors of the new and the old value, in the type that cuDNN requires for the tensors' type.
struct Factors {
  explicit Factors(DataType dtype) : is_double_(dtype == DataType::f64) {}
  const void* one() const { return is_double_ ? static_cast<const void*>(&double_one_) : &float_one_; }
  const void* zero() const { return is_double_ ? static_cast<const void*>(&double_zero_) : &float_zero_; }

 private:
  bool is_double_;
  double double_one_ = 1.0, double_zero_ = 0.0;
  float float_one_ = 1.0f, float_zero_ = 0.0f;
};

Bytes bytes_of(std::size_t size) { return Bytes(static_cast<std::int64_t>(size)); }
template <class Memory>
std::size_t size_of(const Memory& memory) {
  return static_cast<std::size_t>(memory.size().value());
}

class CudnnBatchNorm : public CudaOperation {
 public:
  CudnnBatchNorm(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data),
        norm_(std::get<BatchNorm>(operation().parameters())),
        handle_(cudnn_handle()),
        mode_(mode_of(norm_)),
        factors_(norm_.dtype) {
    describe_tensors();
    if (norm_.pass == Pass::inference) return;
    std::size_t reserve = 0;
    check_cudnn(cudnn().cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle_, mode_, kOps, nullptr,
                                                                             x_, &reserve),
                "the reserve space of batch normalization");
    reserve_ = DeviceMemory(bytes_of(reserve));
    if (norm_.pass == Pass::backward) fill_statistics();
    allocate_workspace(norm_.pass);
    if (norm_.pass == Pass::forward) allocate_running();
  }

  std::string provider() const override { return "cudnn"; }
  std::string algorithm() const override {
    return mode_ == CUDNN_BATCHNORM_SPATIAL ? "CUDNN_BATCHNORM_SPATIAL"
                                            : "CUDNN_BATCHNORM_SPATIAL_PERSISTENT";
  }
  Bytes workspace() const override { return workspace_.size() + reserve_.size(); }

  void run(NativeQueue queue) override {
    check_cudnn(cudnn().cudnnSetStream(handle_, static_cast<cudaStream_t>(queue)), "cudnnSetStream");
    switch (norm_.pass) {
      case Pass::forward:
        run_forward(operand_pointer(0), operand_pointer(1), operand_pointer(2), operand_pointer(3),
                    operand_pointer(4), operand_pointer(5));
        break;
      case Pass::backward: run_backward(); break;
      case Pass::inference: run_inference(); break;
    }
  }

 private:
  void describe_tensors() {
    const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
    const int n = narrow(norm_.n), c = narrow(norm_.c), h = narrow(norm_.h), w = narrow(norm_.w);
    const cudnnDataType_t type = type_of(norm_.dtype);
    check_cudnn(norm_.layout == Layout::nhwc
                    ? cudnn().cudnnSetTensor4dDescriptorEx(x_, type, n, c, h, w, h * w * c, 1, w * c, c)
                    : cudnn().cudnnSetTensor4dDescriptorEx(x_, type, n, c, h, w, c * h * w, h * w, w, 1),
                "describing x");
    check_cudnn(cudnn().cudnnDeriveBNTensorDescriptor(channels_, x_, mode_), "describing the channels");
  }

  void allocate_workspace(Pass pass) {
    std::size_t size = 0;
    check_cudnn(pass == Pass::forward
                    ? cudnn().cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                          handle_, mode_, kOps, x_, nullptr, x_, channels_, nullptr, &size)
                    : cudnn().cudnnGetBatchNormalizationBackwardExWorkspaceSize(
                          handle_, mode_, kOps, x_, x_, x_, nullptr, x_, channels_, nullptr, &size),
                "the workspace of batch normalization");
    workspace_ = Workspace();
    workspace_ = Workspace(context(), bytes_of(size));
  }

  // Momentum mixes in the old values: zeros, as in a new layer's mean.
  void allocate_running() {
    const Bytes size(norm_.c * (norm_.dtype == DataType::f64 ? 8 : 4));
    for (DeviceMemory* running : {&running_mean_, &running_variance_}) {
      *running = DeviceMemory(size);
      check(driver().cuMemsetD8Async(running->address(), 0, size_of(*running), context().stream()),
            "clearing the running averages");
    }
    check(driver().cuCtxSynchronize(), "preparing " + operation().text());
  }

  // The backward pass reads results of a forward pass: mean, deviation and the reserve space.
  void fill_statistics() {
    allocate_workspace(Pass::forward);
    const DeviceMemory y(operation().operands()[0].bytes());
    const DeviceMemory bias(operation().operands()[2].bytes());
    check(driver().cuMemsetD8Async(bias.address(), 0, size_of(bias), context().stream()), "clearing a bias");
    check_cudnn(cudnn().cudnnSetStream(handle_, context().stream()), "cudnnSetStream");
    run_forward(operand_pointer(0), operand_pointer(2), bias.pointer(), y.pointer(), operand_pointer(3),
                operand_pointer(4));
    check(driver().cuCtxSynchronize(), "the forward pass before " + operation().text());
  }

  void run_forward(void* x, void* weight, void* bias, void* y, void* mean, void* deviation) {
    check_cudnn(cudnn().cudnnBatchNormalizationForwardTrainingEx(
                    handle_, mode_, kOps, factors_.one(), factors_.zero(), x_, x, nullptr, nullptr, x_, y,
                    channels_, weight, bias, kMomentum, running_mean_.pointer(), running_variance_.pointer(),
                    kEpsilon, mean, deviation, nullptr, workspace_.pointer(), size_of(workspace_),
                    reserve_.pointer(), size_of(reserve_)),
                "cudnnBatchNormalizationForwardTrainingEx");
  }
  void run_backward() {
    check_cudnn(cudnn().cudnnBatchNormalizationBackwardEx(
                    handle_, mode_, kOps, factors_.one(), factors_.zero(), factors_.one(), factors_.zero(),
                    x_, operand_pointer(0), nullptr, nullptr, x_, operand_pointer(1), nullptr, nullptr, x_,
                    operand_pointer(5), channels_, operand_pointer(2), nullptr, operand_pointer(6),
                    operand_pointer(7), kEpsilon, operand_pointer(3), operand_pointer(4), nullptr,
                    workspace_.pointer(), size_of(workspace_), reserve_.pointer(), size_of(reserve_)),
                "cudnnBatchNormalizationBackwardEx");
  }
  void run_inference() {
    check_cudnn(cudnn().cudnnBatchNormalizationForwardInference(
                    handle_, mode_, factors_.one(), factors_.zero(), x_, operand_pointer(0), x_,
                    operand_pointer(5), channels_, operand_pointer(1), operand_pointer(2), operand_pointer(3),
                    operand_pointer(4), kEpsilon),
                "cudnnBatchNormalizationForwardInference");
  }

  BatchNorm norm_;
  cudnnHandle_t handle_;
  cudnnBatchNormMode_t mode_;
  Factors factors_;
  TensorDescriptor x_, channels_;
  Workspace workspace_;
  DeviceMemory reserve_, running_mean_, running_variance_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_batch_norm(const Context& context, const Operation& operation,
                                                      const InputData& data) {
  if (!pytorch_uses_cudnn(std::get<BatchNorm>(operation.parameters()))) {
    return prepare_builtin(context, operation, data);
  }
  cudnn();  // before operands are allocated: reports a missing library first
  return std::make_unique<CudnnBatchNorm>(context, operation, data);
}

}  // namespace jitterscope::cuda
