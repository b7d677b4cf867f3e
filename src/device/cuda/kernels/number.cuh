// How each data type is stored and computed in: f16 and bf16 in f32, the others in themselves.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

template <class T>
struct Number {
  using Compute = T;
  static constexpr bool kShort = false;
  __device__ static T load(T value) { return value; }
  __device__ static T store(T value) { return value; }
};
template <>
struct Number<__half> {
  using Compute = float;
  static constexpr bool kShort = true;
  __device__ static float load(__half value) { return __half2float(value); }
  __device__ static __half store(float value) { return __float2half_rn(value); }
};
template <>
struct Number<__nv_bfloat16> {
  using Compute = float;
  static constexpr bool kShort = true;
  __device__ static float load(__nv_bfloat16 value) { return __bfloat162float(value); }
  __device__ static __nv_bfloat16 store(float value) { return __float2bfloat16_rn(value); }
};
template <class T>
using Compute = typename Number<T>::Compute;

__device__ __forceinline__ std::uint64_t first_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t index_step() {
  return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}

}  // namespace

// A kernel: its largest block, its name, its parameters and its body.
#ifndef JITTERSCOPE_ENTRY
#define JITTERSCOPE_ENTRY(threads, name, parameters, ...) \
  extern "C" __global__ void __launch_bounds__(threads) name parameters __VA_ARGS__
// `together`: so many such blocks are to find room on an SM.
#define JITTERSCOPE_ROOM_ENTRY(threads, together, name, parameters, ...) \
  extern "C" __global__ void __launch_bounds__(threads, together) name parameters __VA_ARGS__
// Shared memory as large as the launch says.
#define JITTERSCOPE_SHARED_MEMORY(name) extern __shared__ uint4 name[]
#endif

// One kernel for each data type that is stored: JITTERSCOPE_FOR_EACH_TYPE(M) is M(double, f64) and so on.
#define JITTERSCOPE_FOR_EACH_TYPE(M) \
  M(double, f64)                     \
  JITTERSCOPE_FOR_EACH_SHORT_TYPE(M)
// Without f64, which networks seldom use: a fourth of a kernel's code for a variant that only makes it
// faster.
#define JITTERSCOPE_FOR_EACH_SHORT_TYPE(M) \
  M(float, f32)                            \
  M(__half, f16)                           \
  M(__nv_bfloat16, bf16)
