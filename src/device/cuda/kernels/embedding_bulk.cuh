// Copies from shared memory to the GPU's memory that one thread starts, whatever their size (compute
// capability 9.0); elsewhere it makes them itself.
#pragma once

#include "device/cuda/kernels/vector.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/// What the thread wrote to shared memory, or copied there, is what copies from there will find.
__device__ __forceinline__ void show_to_bulk_stores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Both addresses and the size are multiples of 16 bytes. Nobody reads it soon, as Pack::store_once has it.
__device__ __forceinline__ void start_bulk_store(void* to, const uint4* from, std::uint32_t bytes) {
  std::uint64_t first_to_go = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first_to_go));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(bytes), "l"(first_to_go)
               : "memory");
}
/// Until all that the thread started have been read, so that their source can be written or given up.
__device__ __forceinline__ void wait_for_bulk_reads() {
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
}
#else
__device__ __forceinline__ void show_to_bulk_stores() {}
__device__ __forceinline__ void start_bulk_store(void* to, const uint4* from, std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes / sizeof(uint4); ++i) static_cast<uint4*>(to)[i] = from[i];
}
__device__ __forceinline__ void wait_for_bulk_reads() {}
#endif

}  // namespace
