// Enough of a GPU to run the kernels of layers on the CPU, block after block: included before each of their
// files, which then compile as C++. A thread is a fiber; where one waits for others, the next one runs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <math.h>  // of float and double by one name, as the GPU's compiler has them

#include <cstdint>
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
Value __shfl_xor_sync(unsigned, Value value, int offset) {
  return emulation::exchange(value, threadIdx.x ^ static_cast<unsigned>(offset));
}
template <class Value>
Value atomicAdd(Value* to, Value value) {
  return std::exchange(*to, *to + value);
}
