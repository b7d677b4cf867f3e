#include "device/cuda/operations/loaded_kernel.hpp"

#include "device/cuda/driver.hpp"

namespace jitterscope::cuda {

int architecture_of(const Context& context) {
  return 10 * context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

LoadedKernel::LoadedKernel(const CompiledKernel& kernel, const std::string& name, std::int64_t optimize) {
  // The driver's own full optimization is level 4, which it takes where none is named.
  CUjit_option option = CU_JIT_OPTIMIZATION_LEVEL;
  void* level = reinterpret_cast<void*>(optimize);
  const unsigned options = optimize == kFullOptimization ? 0 : 1;
  check(driver().cuModuleLoadDataEx(&module_, kernel.image.data(), options, &option, &level),
        "loading " + name);
  try {
    check(driver().cuModuleGetFunction(&function_, module_, kernel.symbol.c_str()), "finding " + name);
    if (driver().cuFuncLoad != nullptr) check(driver().cuFuncLoad(function_), "loading " + name);
  } catch (...) {
    driver().cuModuleUnload(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  driver().cuCtxSynchronize();  // what still runs of it ends first
  driver().cuModuleUnload(module_);
}

int LoadedKernel::attribute(CUfunction_attribute which) const {
  int value = 0;
  check(driver().cuFuncGetAttribute(&value, which, function_), "asking the driver about a kernel");
  return value;
}

}  // namespace jitterscope::cuda
