#ifdef JITTERSCOPE_TORCH_CUDA

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

#include <atomic>

#include "torch_plugin/device_scope.hpp"
#include "torch_plugin/refusal.hpp"

namespace jitterscope::torch_plugin {
namespace {

#if JITTERSCOPE_TORCH_POOLS
// PyTorch numbers its own pools from 0.
c10::cuda::MempoolId_t pool_id(unsigned long long number) { return {0, (1ull << 62) + number}; }
#endif

}  // namespace

MemoryPool::MemoryPool(at::Device device) : device_(device) {
  static std::atomic<unsigned long long> made{0};
  number_ = ++made;
}

MemoryPool::~MemoryPool() {
#if JITTERSCOPE_TORCH_POOLS
  if (!used_) return;
  try {
    c10::cuda::CUDACachingAllocator::releasePool(device_.index(), pool_id(number_));
    // Otherwise the memory would be missing to the next operation's operands, or to another library.
    c10::cuda::CUDACachingAllocator::emptyCache();
  } catch (const std::exception&) {  // the GPU failed: nothing is left to give back
  }
#endif
}

void MemoryPool::begin(void* stream) {
#if JITTERSCOPE_TORCH_POOLS
  if (!device_.is_cuda()) return;
  // Each begin counts as a user of the pool. The first one is kept, so that the pool stays.
  c10::cuda::CUDACachingAllocator::beginAllocateToPool(
      device_.index(), pool_id(number_), [stream](cudaStream_t asking) { return asking == stream; });
#else
  static_cast<void>(stream);
#endif
}

void MemoryPool::end() {
#if JITTERSCOPE_TORCH_POOLS
  if (!device_.is_cuda()) return;
  c10::cuda::CUDACachingAllocator::endAllocateToPool(device_.index(), pool_id(number_));
  if (used_) c10::cuda::CUDACachingAllocator::releasePool(device_.index(), pool_id(number_));
  used_ = true;
#endif
}

void require_device(at::Device device) {
  if (!device.is_cuda()) return;
  try {
    at::empty({1}, at::TensorOptions(at::kByte).device(device));  // starts PyTorch's part for CUDA
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    throw Refusal(JITTERSCOPE_TORCH_MISSING,
                  "PyTorch " TORCH_VERSION " cannot use the GPU: " + message.substr(0, message.find('\n')));
  }
}

DeviceScope::DeviceScope(MemoryPool& pool, void* stream) : pool_(pool) {
  if (!pool.device().is_cuda()) return;
  stream_ = c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), pool.device().index());
  guard_.emplace(*stream_);
  pool_.begin(stream);
}

DeviceScope::~DeviceScope() {
  if (guard_) pool_.end();
}

bool DeviceScope::is_recording() const {
  return guard_ && c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

void DeviceScope::wait() const {
  if (stream_) stream_->synchronize();
}

RefuseToWait::RefuseToWait(at::Device device) : on_gpu_(device.is_cuda()) {
  if (!on_gpu_) return;
  former_ = static_cast<int>(c10::cuda::warning_state().get_sync_debug_mode());
  c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
}

RefuseToWait::~RefuseToWait() {
  if (!on_gpu_) return;
  c10::cuda::warning_state().set_sync_debug_mode(static_cast<c10::cuda::SyncDebugMode>(former_));
}

}  // namespace jitterscope::torch_plugin

#endif
