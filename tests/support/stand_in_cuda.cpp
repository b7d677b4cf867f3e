// A CUDA driver without a GPU, libcuda.so.1: it names functions and kernels, its memory is the host's, and
// all else succeeds without effect: kernels do not run. STAND_IN_CUDA_INIT is what cuInit answers,
// STAND_IN_CUDA_DEVICES how many devices there are; with
// STAND_IN_CUDA_NO_PEERS no process gets another's memory. Like NVIDIA's, its first cuInit loads the library
// of CUDA_INJECTION64_PATH. Events have passed, unless the stand-in for NCCL is loaded and has work left.
#include "support/stand_in_cuda.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "device/cuda/driver.hpp"
#include "support/stand_in_nccl.hpp"

using namespace jitterscope;

namespace {

CUresult name_if(bool is_known, const char* name, void* out) {
  if (!is_known) return CUDA_ERROR_INVALID_HANDLE;
  *static_cast<const char**>(out) = name;
  return CUDA_SUCCESS;
}

void load_injection() {
  static bool has_loaded = false;
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || has_loaded) return;
  has_loaded = true;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  const auto begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (begin != nullptr) begin();
}

std::size_t as_size(const void* argument) { return reinterpret_cast<std::uintptr_t>(argument); }
int as_number(const void* argument) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(argument)); }

int attribute(int which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 2;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    default: return 0;
  }
}

bool has_collectives_left() {
  static auto* const pending =
      reinterpret_cast<stand_in::NcclPending*>(dlsym(RTLD_DEFAULT, stand_in::kNcclPendingName));
  return pending != nullptr && pending() > 0;
}

// Memory of the GPU, of which other processes can have a part, too.
struct Block {
  int file = -1;
  std::size_t size = 0;
};
std::map<void*, Block>& blocks() {
  static auto* const all = new std::map<void*, Block>();  // used until the process has ended
  return *all;
}

void* map_file(int file, std::size_t size) {
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address != MAP_FAILED) blocks()[address] = {file, size};
  return address == MAP_FAILED ? nullptr : address;
}

void* allocate(std::size_t size) {
  const int file = ::memfd_create("stand-in-gpu", MFD_CLOEXEC);
  return ::ftruncate(file, static_cast<off_t>(size)) == 0 ? map_file(file, size) : nullptr;
}

void unmap(void* address) {
  const auto block = blocks().find(address);
  if (block == blocks().end()) return;
  ::munmap(address, block->second.size);
  ::close(block->second.file);
  blocks().erase(block);
}

// Returns true if the function is one about memory, which is then done.
bool use_memory(std::string_view function, void* first, void* second, void* third) {
  constexpr std::size_t kAll = std::size_t{1} << 36;
  if (function == "cuMemAlloc_v2" || function == "cuMemHostAlloc") {
    *static_cast<void**>(first) = allocate(as_size(second));
  } else if (function == "cuMemFree_v2" || function == "cuMemFreeHost") {
    unmap(first);
  } else if (function == "cuMemHostGetDevicePointer_v2") {
    *static_cast<void**>(first) = second;
  } else if (function == "cuMemGetInfo_v2") {
    *static_cast<std::size_t*>(first) = *static_cast<std::size_t*>(second) = kAll;
  } else if (function == "cuMemcpyHtoDAsync_v2" || function == "cuMemcpyDtoHAsync_v2" ||
             function == "cuMemcpyDtoDAsync_v2") {
    std::memcpy(first, second, as_size(third));
  } else if (function == "cuMemsetD8Async") {
    std::memset(first, as_number(second), as_size(third));
  } else {
    return false;
  }
  return true;
}

// The functions that are asked for anything have three arguments of a register each, or fewer.
CUresult answer(std::string_view function, void* first, void* second, void* third) {
  if (use_memory(function, first, second, third)) return CUDA_SUCCESS;
  const auto handle = reinterpret_cast<std::uintptr_t>(second);
  if (handle >= stand_in::kNamed) {
    const auto* name = reinterpret_cast<const char*>(handle);
    if (function == "cuFuncGetName") return name_if(name[0] != 'k', name, first);
    if (function == "cuKernelGetName") return name_if(true, name, first);
  }
  if (function == "cuFuncGetName")
    return name_if(handle == stand_in::kFunction, stand_in::kFunctionName, first);
  if (function == "cuKernelGetName")
    return name_if(handle == stand_in::kKernel, stand_in::kKernelName, first);
  if (function == "cuInit") {
    load_injection();
    const char* answered = std::getenv("STAND_IN_CUDA_INIT");
    return static_cast<CUresult>(answered == nullptr ? 0 : std::atoi(answered));
  }
  if (function == "cuGetErrorString") return name_if(true, "what the stand-in says", second);
  if (function == "cuDriverGetVersion") *static_cast<int*>(first) = 13000;
  if (function == "cuDeviceGetCount") {
    const char* devices = std::getenv("STAND_IN_CUDA_DEVICES");
    *static_cast<int*>(first) = devices == nullptr ? 0 : std::atoi(devices);
  }
  if (function == "cuDeviceGet") *static_cast<CUdevice*>(first) = as_number(second);
  if (function == "cuDeviceGetAttribute") *static_cast<int*>(first) = attribute(as_number(second));
  if (function == "cuDeviceGetUuid_v2")
    static_cast<CUuuid*>(first)->bytes[0] = static_cast<char>(as_number(second));
  if (function == "cuEventQuery" && has_collectives_left()) return CUDA_ERROR_NOT_READY;
  if (function == "cuDeviceGetName") std::strcpy(static_cast<char*>(first), "stand-in");
  return CUDA_SUCCESS;
}

}  // namespace

// By a label of the assembler, as cuda.h declares the names with parameters of their own.
#define JITTERSCOPE_DEFINE(name)                                                              \
  extern "C" CUresult stand_in_##name(void* first, void* second, void* third) __asm__(#name); \
  CUresult stand_in_##name(void* first, void* second, void* third) {                          \
    return answer(#name, first, second, third);                                               \
  }
#define JITTERSCOPE_EXPAND(name) JITTERSCOPE_DEFINE(name)  // cuMemAlloc to cuMemAlloc_v2
JITTERSCOPE_CUDA_FUNCTIONS(JITTERSCOPE_EXPAND)

// A handle of memory names a process and its file.

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const auto block = blocks().find(reinterpret_cast<void*>(address));  // NOLINT: as the driver takes it
  if (block == blocks().end()) return CUDA_ERROR_INVALID_VALUE;
  const std::array<std::size_t, 3> named = {static_cast<std::size_t>(::getpid()),
                                            static_cast<std::size_t>(block->second.file), block->second.size};
  std::memcpy(handle->reserved, named.data(), sizeof(named));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  std::array<std::size_t, 3> named{};
  std::memcpy(named.data(), handle.reserved, sizeof(named));
  if (std::getenv("STAND_IN_CUDA_NO_PEERS") != nullptr) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const std::string path = "/proc/" + std::to_string(named[0]) + "/fd/" + std::to_string(named[1]);
  *address = reinterpret_cast<CUdeviceptr>(map_file(::open(path.c_str(), O_RDWR | O_CLOEXEC), named[2]));
  return *address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  unmap(reinterpret_cast<void*>(address));  // NOLINT: as the driver takes it
  return CUDA_SUCCESS;
}

}  // extern "C"
