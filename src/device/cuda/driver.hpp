// The CUDA driver API, opened at run time: nothing from NVIDIA is linked.
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

/// The driver's functions, each under its own name: driver().cuMemAlloc(...). Those missing in an old
/// driver are null.
struct Driver;

/// Opens libcuda.so.1 and calls cuInit on first use. Throws MissingError with the reason.
const Driver& driver();

/// Throws FailedError "WHAT: CUDA_ERROR_X (description)" unless success; out of memory says so plainly.
void check(CUresult result, std::string_view what);

// Names go through the macros of cuda.h, so that cuMemAlloc is looked up as cuMemAlloc_v2.
// clang-format off
#define JITTERSCOPE_CUDA_FUNCTIONS(X)                                                                       \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet)                     \
  X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)    \
  X(cuDeviceGetPCIBusId) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent)       \
  X(cuCtxGetCurrent) X(cuCtxSynchronize) X(cuCtxResetPersistingL2Cache) X(cuMemGetInfo) X(cuMemAlloc)      \
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

// Libraries that are named by the CUDA that they are of, and the driver that they are to run on.

/// Those of CUDA `major` or older: "libcublas.so.12" on a driver of CUDA 12, and not "libcublas.so.13", which
/// opens there and fails in its first call. All where that leaves none, so that the library's own words are
/// heard.
std::vector<std::string> names_up_to(int major, const std::vector<std::string>& names);

/// Those that run on this machine's driver; all where there is none.
std::vector<std::string> names_for_driver(const std::vector<std::string>& names);

// Library handles, one for each context: making one costs milliseconds and device memory.

/// Names a context over the life of the process. An address does not: a primary context that was released
/// and retained again may have the old one's.
inline unsigned long long current_context_id() {
  unsigned long long id = 0;
  const auto get_id = driver().library.find_function<CUresult(CUcontext, unsigned long long*)>("cuCtxGetId");
  if (get_id != nullptr && get_id(nullptr, &id) == CUDA_SUCCESS) return id;
  CUcontext context = nullptr;  // drivers before 12.0 have no cuCtxGetId
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return reinterpret_cast<unsigned long long>(context);
}

/// Handles live as long as the process: they may only be destroyed while their context lives.
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

class Kernels;
class LayerKernels;

class Context {
 public:
  /// Throws MissingError where there is no such GPU.
  explicit Context(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Makes it the calling thread's context; every entry point from outside calls this first.
  void make_current() const;
  int ordinal() const { return ordinal_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }
  int attribute(CUdevice_attribute attribute) const;
  Bytes free_memory() const;
  /// Throws UsageError where a caller's stream belongs to another GPU or context.
  void require_own(CUstream stream) const;
  /// The one stream of everything that jitterscope launches here: operands are filled and queues run on it.
  /// Kernels on two streams in turn put a process into a state that it does not leave again, in which each
  /// node of a recording takes 0.18 us more (H200, driver 580: 0.63 and 0.81 us for an empty kernel on 132
  /// blocks, where CUPTI reads 0.61 in both). The fourth turn did it, whatever the other stream ran.
  CUstream stream() const { return stream_; }
  /// jitterscope's own kernels, all of them loaded already.
  const Kernels& kernels() const { return *kernels_; }
  /// Those of layers, loaded when one is prepared.
  const LayerKernels& layer_kernels() const { return *layer_kernels_; }
  /// Of what runs on stream().
  WorkspacePool<PlacedMemory>& workspaces() const { return borrowed_ != nullptr ? *borrowed_ : *workspaces_; }
  /// What is prepared from now on takes its workspaces there, as it runs on another stream; null: from its
  /// own.
  void borrow_workspaces(WorkspacePool<PlacedMemory>* pool) const { borrowed_ = pool; }
  PhysicalPool& pages() const { return *pages_; }

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
};

}  // namespace jitterscope::cuda
