#include "device/cuda/layer_kernels.hpp"

#include <cstddef>

#include "device/cuda/context.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernel_module.hpp"

// What kernels_binary.S embeds of layer_kernels.cu.
extern "C" const std::byte jitterscope_layer_kernels_begin[];

namespace jitterscope::cuda {

LayerKernels::~LayerKernels() {
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

CUfunction LayerKernels::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (module_ == nullptr) module_ = load_module(context_, jitterscope_layer_kernels_begin);
  return find_function(module_, name.c_str());
}

}  // namespace jitterscope::cuda
