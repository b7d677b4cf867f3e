#include "device/cuda/kernel_module.hpp"

#include <fmt/format.h>

#include "device/cuda/context.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {

CUmodule load_module(const Context& context, const void* binary) {
  CUmodule module = nullptr;
  const CUresult result = driver().cuModuleLoadData(&module, binary);
  switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: break;
    default: check(result, "loading jitterscope's kernels"); return module;
  }
  throw MissingError(
      fmt::format("cuda:{} cannot run jitterscope's kernels: they were built by CUDA {}.{} for compute "
                  "capability 7.5 and newer, the "
                  "GPU has {}.{} and its driver knows CUDA up to {}.{}; update the driver, or build with an "
                  "older toolkit",
                  context.ordinal(), CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
                  context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                  context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), driver().version / 1000,
                  driver().version % 1000 / 10));
}

// cuFuncLoad came with driver 550 (CUDA 12.4); before it, cuModuleGetFunction alone loads the kernel.
CUfunction find_function(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module, name),
        fmt::format("finding jitterscope's kernel {}", name));
  if (driver().cuFuncLoad != nullptr) {
    check(driver().cuFuncLoad(function), fmt::format("loading jitterscope's kernel {}", name));
  }
  return function;
}

}  // namespace jitterscope::cuda
