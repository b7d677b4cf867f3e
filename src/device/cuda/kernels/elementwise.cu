// y = f(a, b), element by element. Formulas and operands: Elementwise in jitterscope/operation.hpp.
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::kFillVectors;

template <class C>
__device__ __forceinline__ C logistic(C x) {
  return C(1) / (C(1) + exp(-x));
}
template <class C>
__device__ __forceinline__ C silu_gradient(C dy, C x) {
  const C s = logistic(x);
  return dy * s * (C(1) + x * (C(1) - s));
}
/// Returns the standard normal distribution function at x.
template <class C>
__device__ __forceinline__ C cumulative(C x) {
  return C(0.5) * erfc(-x * C(0.70710678118654752440));
}
template <class C>
__device__ __forceinline__ C gelu_gradient(C dy, C x) {
  return dy * (cumulative(x) + x * exp(C(-0.5) * x * x) * C(0.39894228040143267794));
}

/// This kernel is measured itself and is no stand-in, so it is as fast as it can be: a block writes one
/// range, and each thread has several writes in flight.
template <class T>
__device__ __forceinline__ void fill_ones(T* out, std::uint64_t count) {
  const std::uint64_t mine = static_cast<std::uint64_t>(blockIdx.x) * kFillVectors * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kFillVectors; ++k) {
    for_elements_of<T>(mine + k * blockDim.x, count, [&](auto width, std::uint64_t at) {
      map_packs<T, decltype(width)::value>(out, at, [](std::uint64_t) { return Compute<T>(1); });
    });
  }
}

}  // namespace

// The compiler drops the reads of inputs that a formula does not use.
#define JITTERSCOPE_ELEMENTWISE(name, T, suffix, formula)                                                  \
  JITTERSCOPE_ENTRY(kBlockThreads, name##_##suffix,                                                        \
                    (T * out, const T* first, const T* second, std::uint64_t count), {                     \
                      using C = Compute<T>;                                                                \
                      const auto compute = [](std::uint64_t, [[maybe_unused]] C a, [[maybe_unused]] C b) { \
                        return formula;                                                                    \
                      };                                                                                   \
                      map_elements(out, count, compute, first, second);                                    \
                    })
#define JITTERSCOPE_FORMULA(name, formula)            \
  JITTERSCOPE_ELEMENTWISE(name, double, f64, formula) \
  JITTERSCOPE_ELEMENTWISE(name, float, f32, formula)  \
  JITTERSCOPE_ELEMENTWISE(name, __half, f16, formula) \
  JITTERSCOPE_ELEMENTWISE(name, __nv_bfloat16, bf16, formula)

#define JITTERSCOPE_FILL(T, suffix) \
  JITTERSCOPE_ENTRY(kBlockThreads, fill_##suffix, (T * out, std::uint64_t count), { fill_ones(out, count); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_FILL)
JITTERSCOPE_FORMULA(add, (a + b))
JITTERSCOPE_FORMULA(mul, (a * b))
// A NaN stays NaN, as in the frameworks.
JITTERSCOPE_FORMULA(relu, a < C(0) ? C(0) : a)
JITTERSCOPE_FORMULA(relu6, a < C(0) ? C(0) : (a > C(6) ? C(6) : a))
JITTERSCOPE_FORMULA(sigmoid, logistic(a))
JITTERSCOPE_FORMULA(tanh, ::tanh(a))
JITTERSCOPE_FORMULA(silu, (a * logistic(a)))
JITTERSCOPE_FORMULA(gelu, (a * cumulative(a)))
// a is dy, b is the value that forward kept. If b is NaN, relu passes dy, as in PyTorch.
JITTERSCOPE_FORMULA(relu_backward, b <= C(0) ? C(0) : a)
JITTERSCOPE_FORMULA(relu6_backward, b <= C(0) || b >= C(6) ? C(0) : a)
JITTERSCOPE_FORMULA(sigmoid_backward, (a * b * (C(1) - b)))
JITTERSCOPE_FORMULA(tanh_backward, (a * (C(1) - b * b)))
JITTERSCOPE_FORMULA(silu_backward, silu_gradient(a, b))
JITTERSCOPE_FORMULA(gelu_backward, gelu_gradient(a, b))
