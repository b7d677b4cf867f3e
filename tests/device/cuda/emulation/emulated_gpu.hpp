// Enough of a GPU to run the kernels of layers on the CPU, block after block: included before each of their
// files, which then compile as C++. A thread is a fiber; where one waits for others, the next one runs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "emulated_gpu_launch.hpp"

namespace emulation {

struct Index {
  unsigned x = 0;
};
inline Index block_index, thread_index, block_size, grid_size;

/// Ends the running thread's turn; it goes on when all others have had theirs.
void wait_for_others();
/// Ends its turns until all threads of the block have come as far.
void wait_at_barrier();

/// What each thread of a block gives to the others: two rows, used in turn, since a thread may already give
/// its next value while others still read this one.
inline double exchanged[2][1024];
inline unsigned exchanges[1024];

template <class Value>
Value exchange(Value value, unsigned partner) {
  const unsigned row = exchanges[thread_index.x]++ % 2;
  exchanged[row][thread_index.x] = static_cast<double>(value);
  wait_for_others();
  return static_cast<Value>(exchanged[row][partner]);
}

/// What the other lanes of the warp give, in their order.
template <class Value, class Visit>
void visit_warp(Value value, Visit visit) {
  const unsigned row = exchanges[thread_index.x]++ % 2;
  exchanged[row][thread_index.x] = static_cast<double>(value);
  wait_for_others();
  const unsigned first = thread_index.x / 32 * 32;
  for (unsigned lane = 0; lane < 32; ++lane) visit(lane, static_cast<Value>(exchanged[row][first + lane]));
}

/// As large as the launch says, aligned to 16 bytes.
inline void* shared_memory = nullptr;

using Call = void (*)(void** arguments);

struct Entry {
  Entry(const char* name, unsigned largest_block, Call call);
};

template <class... Parameters, std::size_t... I>
void call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<Parameters*>(arguments[I])...);
}
template <auto Kernel, class... Parameters>
void call_with(void (*)(Parameters...), void** arguments) {
  call(Kernel, arguments, std::index_sequence_for<Parameters...>());
}

}  // namespace emulation

#define JITTERSCOPE_ENTRY(threads, name, parameters, ...)                             \
  static void name parameters __VA_ARGS__ static const emulation::Entry name##_entry( \
      #name, threads, [](void** arguments) { emulation::call_with<&name>(&name, arguments); });
#define JITTERSCOPE_ROOM_ENTRY(threads, together, ...) JITTERSCOPE_ENTRY(threads, __VA_ARGS__)
#define JITTERSCOPE_SHARED_MEMORY(name) uint4* const name = static_cast<uint4*>(emulation::shared_memory)

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define blockIdx emulation::block_index
#define threadIdx emulation::thread_index
#define blockDim emulation::block_size
#define gridDim emulation::grid_size

inline void __syncthreads() { emulation::wait_at_barrier(); }
template <class Value>
Value __shfl_xor_sync(unsigned, Value value, int offset, int = 32) {
  return emulation::exchange(value, threadIdx.x ^ static_cast<unsigned>(offset));
}
/// Whoever has no such neighbour in its warp keeps its own.
template <class Value>
Value __shfl_up_sync(unsigned, Value value, unsigned offset) {
  return emulation::exchange(value, threadIdx.x - (threadIdx.x % 32 < offset ? 0 : offset));
}
template <class Value>
Value __shfl_down_sync(unsigned, Value value, unsigned offset) {
  return emulation::exchange(value, threadIdx.x + (threadIdx.x % 32 + offset < 32 ? offset : 0));
}
template <class Value>
Value __shfl_sync(unsigned, Value value, int lane) {
  return emulation::exchange(value, threadIdx.x / 32 * 32 + static_cast<unsigned>(lane));
}
/// All lanes of a warp, in blocks of whole warps.
template <class Value>
unsigned __match_any_sync(unsigned, Value value) {
  unsigned same = 0;
  emulation::visit_warp(value, [&](unsigned lane, Value other) { same |= other == value ? 1u << lane : 0u; });
  return same;
}
inline unsigned __ballot_sync(unsigned, bool value) {
  unsigned those = 0;
  emulation::visit_warp(value, [&](unsigned lane, bool other) { those |= other ? 1u << lane : 0u; });
  return those;
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline void __threadfence() {}
template <class Value>
Value atomicAdd(Value* to, Value value) {
  return std::exchange(*to, *to + value);
}
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
