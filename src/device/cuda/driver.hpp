// The CUDA driver API, opened at run time: nothing from NVIDIA is linked.
#pragma once

#include <cuda.h>

#include <string_view>

#include "base/shared_library.hpp"

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

}  // namespace jitterscope::cuda
