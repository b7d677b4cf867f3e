#ifndef JITTERSCOPE_TORCH_CUDA

#include "torch_plugin/device_scope.hpp"
#include "torch_plugin/refusal.hpp"

namespace jitterscope::torch_plugin {

MemoryPool::MemoryPool(at::Device device) : device_(device) {}
MemoryPool::~MemoryPool() = default;
void MemoryPool::begin(void*) {}
void MemoryPool::end() {}

void require_device(at::Device device) {
  if (device.is_cpu()) return;
  throw Refusal(JITTERSCOPE_TORCH_MISSING,
                "the plug-in for PyTorch was built with PyTorch " TORCH_VERSION
                " without CUDA; build it with one that has CUDA (docs/guide/pytorch-operators.md)");
}

DeviceScope::DeviceScope(MemoryPool& pool, void*) : pool_(pool) { pool_.begin(nullptr); }
DeviceScope::~DeviceScope() { pool_.end(); }
bool DeviceScope::is_recording() const { return false; }
void DeviceScope::wait() const {}

RefuseToWait::RefuseToWait(at::Device device) : on_gpu_(device.is_cuda()) {}
RefuseToWait::~RefuseToWait() = default;

}  // namespace jitterscope::torch_plugin

#endif
