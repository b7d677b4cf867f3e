// Storage and arithmetic types: f16 and bf16 are computed in f32, the others in themselves.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

template <class T>
struct Number {
  using Compute = T;
  __device__ static T load(T value) { return value; }
  __device__ static T store(T value) { return value; }
};
template <>
struct Number<__half> {
  using Compute = float;
  __device__ static float load(__half value) { return __half2float(value); }
  __device__ static __half store(float value) { return __float2half_rn(value); }
};
template <>
struct Number<__nv_bfloat16> {
  using Compute = float;
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

// Defines a kernel by its largest block, its name, its parameters and its body.
#ifndef JITTERSCOPE_ENTRY
#define JITTERSCOPE_ENTRY(threads, name, parameters, ...) \
  extern "C" __global__ void __launch_bounds__(threads) name parameters __VA_ARGS__
#endif

// Defines one kernel per stored data type: JITTERSCOPE_FOR_EACH_TYPE(M) is M(double, f64) and so on.
#define JITTERSCOPE_FOR_EACH_TYPE(M) \
  M(double, f64)                     \
  M(float, f32)                      \
  M(__half, f16)                     \
  M(__nv_bfloat16, bf16)
