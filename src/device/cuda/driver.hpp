// Opens the CUDA driver API at run time: nothing from NVIDIA is linked.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <cuda.h>

#include "base/shared_library.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// The driver's functions, each under its own name: driver().cuMemAlloc(...). A function that an old driver
/// lacks is null.
struct Driver;

/// Opens libcuda.so.1 and calls cuInit on first use. Throws MissingError with the reason.
const Driver& driver();

/// Throws FailedError "WHAT: CUDA_ERROR_X (description)" unless success; out of memory is said plainly.
void check(CUresult result, std::string_view what);

// The macros of cuda.h apply to the names, so that cuMemAlloc is looked up as cuMemAlloc_v2.
// clang-format off
#define JITTERSCOPE_CUDA_FUNCTIONS(X)                                                                       \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet)                     \
  X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)    \
  X(cuDeviceGetPCIBusId) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent)       \
  X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuCtxResetPersistingL2Cache) X(cuMemGetInfo) X(cuMemAlloc)      \
  X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostGetDevicePointer) X(cuMemcpyHtoDAsync)        \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync) X(cuMemsetD8Async) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload)       \
  X(cuModuleGetFunction) X(cuFuncGetAttribute) X(cuFuncSetAttribute)                 \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuFuncLoad) X(cuFuncGetName) X(cuKernelGetName)         \
  X(cuLaunchKernel) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamGetCtx) X(cuMemAllocAsync)              \
  X(cuMemFreeAsync) X(cuEventQuery) X(cuStreamSynchronize) X(cuStreamBeginCapture) X(cuStreamEndCapture)   \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime)          \
  X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphUpload) X(cuGraphExecDestroy) X(cuGraphDestroy)          \
  X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap)      \
  X(cuMemSetAccess) X(cuMemGetAllocationGranularity) X(cuStreamCreateWithPriority)                         \
  X(cuCtxGetStreamPriorityRange) X(cuStreamWaitEvent) X(cuMemsetD32Async) X(cuMemHostRegister)             \
  X(cuMemHostUnregister) X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolSetAttribute)                   \
  X(cuMemPoolGetAttribute) X(cuMemAllocFromPoolAsync)
// clang-format on

struct Driver {
  SharedLibrary library;
  int version = 0;  ///< 13000 for 13.0
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUDA_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

// Names of libraries by their CUDA version, chosen for the driver.

/// Returns the names of CUDA `major` or older: on a driver of CUDA 12 "libcublas.so.12" but not
/// "libcublas.so.13", which opens there and fails in its first call. Returns all names if none would be left,
/// so that the library's own error is reported.
std::vector<std::string> names_up_to(int major, const std::vector<std::string>& names);

/// Returns the names that run on this machine's driver; all without a driver.
std::vector<std::string> names_for_driver(const std::vector<std::string>& names);

/// The wheels that have CUPTI.
inline constexpr std::string_view kCuptiPackages = "nvidia-cuda-cupti, or nvidia-cuda-cupti-cu12 for CUDA 12";

// One library handle for each context, because making one costs milliseconds and device memory.

/// Returns a number that identifies the current context over the life of the process. Its address does not: a
/// primary context that was released and retained again may get the old address.
inline unsigned long long current_context_id() {
  unsigned long long id = 0;
  const auto get_id = driver().library.find_function<CUresult(CUcontext, unsigned long long*)>("cuCtxGetId");
  if (get_id != nullptr && get_id(nullptr, &id) == CUDA_SUCCESS) return id;
  CUcontext context = nullptr;  // drivers before 12.0 have no cuCtxGetId
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return reinterpret_cast<unsigned long long>(context);
}

/// Keeps handles as long as the process lives: they may only be destroyed while their context lives.
template <class Handle>
class HandleCache {
 public:
  template <class Create>
  Handle get(Create create) {
    const unsigned long long context = current_context_id();
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(context);
    if (found != handles_.end()) return found->second;
    return handles_.emplace(context, create()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<unsigned long long, Handle> handles_;
};

// One GPU's primary context, shared with every library of the process (PyTorch among them).

class Communicator;
class Kernels;
class LayerKernels;

class Context {
 public:
  /// Throws MissingError if there is no such GPU.
  explicit Context(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Makes it the calling thread's context; every public entry point calls this first.
  void make_current() const;
  int ordinal() const { return ordinal_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }
  int attribute(CUdevice_attribute attribute) const;
  Bytes free_memory() const;
  /// Throws UsageError if a caller's stream belongs to another GPU or context.
  void require_own(CUstream stream) const;
  /// Returns the one stream on which jitterscope fills operands and runs queues. Kernels on two streams in
  /// turn make each node of a recording take 0.18 us more until the process ends (H200, driver 580: 0.81
  /// instead of 0.63 us for an empty kernel on 132 blocks, while CUPTI reads 0.61 in both). The fourth turn
  /// causes it, whatever the other stream runs.
  CUstream stream() const { return stream_; }
  /// Returns jitterscope's own kernels, all loaded already.
  const Kernels& kernels() const { return *kernels_; }
  /// Returns the kernels of layers, which are loaded when a layer is first prepared.
  const LayerKernels& layer_kernels() const { return *layer_kernels_; }
  /// Returns the workspaces for work on stream(), or the borrowed pool.
  WorkspacePool<PlacedMemory>& workspaces() const { return borrowed_ != nullptr ? *borrowed_ : *workspaces_; }
  /// Operations that are prepared from now on take their workspaces from `pool`, because they run on another
  /// stream; null: from the context's own pool.
  void borrow_workspaces(WorkspacePool<PlacedMemory>* pool) const { borrowed_ = pool; }
  PhysicalPool& pages() const { return *pages_; }
  /// Takes the communicator of this process's rank and destroys it with the context.
  void join(std::unique_ptr<Communicator> communicator);
  /// Null unless the device has joined other ranks.
  Communicator* communicator() const { return communicator_.get(); }

 private:
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<const Kernels> kernels_;
  std::unique_ptr<const LayerKernels> layer_kernels_;
  std::unique_ptr<PhysicalPool> pages_;
  std::unique_ptr<WorkspacePool<PlacedMemory>> workspaces_ = std::make_unique<WorkspacePool<PlacedMemory>>();
  mutable WorkspacePool<PlacedMemory>* borrowed_ = nullptr;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace jitterscope::cuda
