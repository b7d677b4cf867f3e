#include "device/cuda/layer_kernels.hpp"

#include <cstddef>

#include "device/cuda/context.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernel_module.hpp"

// What kernels_binary.S embeds of each file.
#define JITTERSCOPE_BINARY(file) extern "C" const std::byte jitterscope_##file##_begin[];
JITTERSCOPE_LAYER_KERNEL_FILES(JITTERSCOPE_BINARY)
#undef JITTERSCOPE_BINARY

namespace jitterscope::cuda {
namespace {

const std::byte* binary_of(KernelFile file) {
  switch (file) {
#define JITTERSCOPE_CASE(name) \
  case KernelFile::name: return jitterscope_##name##_begin;
    JITTERSCOPE_LAYER_KERNEL_FILES(JITTERSCOPE_CASE)
#undef JITTERSCOPE_CASE
  }
  return nullptr;
}

}  // namespace

LayerKernels::~LayerKernels() {
  for (const auto& [file, module] : modules_) driver().cuModuleUnload(module);
}

CUmodule LayerKernels::module_of(KernelFile file) const {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(file);
  if (found != modules_.end()) return found->second;
  return modules_.emplace(file, load_module(context_, binary_of(file))).first->second;
}

CUfunction LayerKernels::find(const KernelName& kernel) const {
  return find_function(module_of(kernel.file), kernel.name.c_str());
}

Bytes LayerKernels::largest_shared_memory(const KernelName& kernel) const {
  int own = 0;
  check(driver().cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, find(kernel)),
        "asking for the shared memory of " + kernel.name);
  return Bytes(context_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - own);
}

// All that there is, and not `shared`: another plan may have asked for more, and is still to run.
CUfunction LayerKernels::find(const KernelName& kernel, Bytes shared) const {
  constexpr Bytes kWithoutAsking(std::int64_t{32} << 10);  // 48 KiB less what a kernel itself declares
  const CUfunction function = find(kernel);
  if (shared <= kWithoutAsking) return function;
  check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(largest_shared_memory(kernel).value())),
        "asking for the shared memory of " + kernel.name);
  return function;
}

std::int64_t LayerKernels::resident_blocks(const KernelName& kernel, unsigned threads, Bytes shared) const {
  int per_processor = 0;
  check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, find(kernel, shared),
                                                             static_cast<int>(threads),
                                                             static_cast<std::size_t>(shared.value())),
        "asking how many blocks of " + kernel.name + " fit on an SM");
  return std::int64_t{per_processor} * context_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

// Neither a toolkit nor a driver before CUDA 11.8 knows the attribute, or clusters.
std::int64_t LayerKernels::cluster_blocks(const KernelName& kernel) const {
  int width = 0;
#if CUDA_VERSION >= 11080
  const CUresult result =
      driver().cuFuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, find(kernel));
  if (result != CUDA_SUCCESS) width = 0;
#else
  (void)kernel;
#endif
  return width > 0 ? width : 1;
}

}  // namespace jitterscope::cuda
