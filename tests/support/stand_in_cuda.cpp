// A CUDA driver without a GPU, libcuda.so.1: it names functions and kernels, and all else succeeds without
// effect. STAND_IN_CUDA_INIT is what cuInit answers, STAND_IN_CUDA_DEVICES how many devices there are. Like
// NVIDIA's, its first cuInit loads the library of CUDA_INJECTION64_PATH.
#include "support/stand_in_cuda.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "device/cuda/driver.hpp"

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

// The functions that are asked for anything have two pointers, or one.
CUresult answer(std::string_view function, void* first, void* second) {
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
  if (function == "cuDeviceGetName") std::strcpy(static_cast<char*>(first), "stand-in");
  return CUDA_SUCCESS;
}

}  // namespace

// By a label of the assembler, as cuda.h declares the names with parameters of their own.
#define JITTERSCOPE_DEFINE(name)                                                 \
  extern "C" CUresult stand_in_##name(void* first, void* second) __asm__(#name); \
  CUresult stand_in_##name(void* first, void* second) { return answer(#name, first, second); }
#define JITTERSCOPE_EXPAND(name) JITTERSCOPE_DEFINE(name)  // cuMemAlloc to cuMemAlloc_v2
JITTERSCOPE_CUDA_FUNCTIONS(JITTERSCOPE_EXPAND)
