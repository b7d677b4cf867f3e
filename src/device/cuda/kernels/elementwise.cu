// y = f(a, b), element by element. Formulas and operands: Elementwise in jitterscope/operation.hpp.
#include "device/cuda/kernels/elementwise_shape.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::vectors_in_flight;

__device__ __forceinline__ float divide(float a, float b) { return __fdividef(a, b); }  // to 2 units
__device__ __forceinline__ double divide(double a, double b) { return a / b; }
__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float hyperbolic(float x) { return tanhf(x); }
__device__ __forceinline__ double hyperbolic(double x) { return tanh(x); }

// __fdividef gives 0 for a divisor over 2^126, which is the right limit here.
template <class C>
__device__ __forceinline__ C logistic(C x) {
  return divide(C(1), C(1) + exponential(-x));
}

// Phi(x), and the density's share e^(-x^2/2), which the derivative needs as well.
template <class C>
struct Gauss {
  C cumulative, exponent;
};
// For types of 16 bits: Abramowitz and Stegun 7.1.26, within 1.5e-7, since erff alone would take more
// instructions than there is time for at the memory's speed (4 elements a cycle and SM on an H200).
__device__ __forceinline__ Gauss<float> gauss_short(float x) {
  const float z = fabsf(x) * 0.70710678118654752f;
  const float t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
  const float e = __expf(-z * z);
  float poly = fmaf(t, 1.061405429f, -1.453152027f);
  poly = fmaf(t, poly, 1.421413741f);
  poly = fmaf(t, poly, -0.284496736f);
  poly = fmaf(t, poly, 0.254829592f);
  const float tail = 0.5f * poly * t * e;  // of the far side
  return {x < 0.0f ? tail : 1.0f - tail, e};
}
__device__ __forceinline__ Gauss<float> gauss_full(float x) {
  return {0.5f * erfcf(-x * 0.70710678118654752f), expf(-0.5f * x * x)};
}
__device__ __forceinline__ Gauss<double> gauss_full(double x) {
  return {0.5 * erfc(-x * 0.70710678118654752440), exp(-0.5 * x * x)};
}
template <class T>
__device__ __forceinline__ Gauss<Compute<T>> gauss(Compute<T> x) {
  if constexpr (Number<T>::kShort) {
    return gauss_short(x);
  } else {
    return gauss_full(x);
  }
}

#define JITTERSCOPE_FORMULA(Name, inputs, expression)      \
  struct Name {                                            \
    static constexpr int kInputs = inputs;                 \
    template <class T, class C = Compute<T>>               \
    __device__ static C apply(C a, [[maybe_unused]] C b) { \
      expression;                                          \
    }                                                      \
  };

namespace formula {

JITTERSCOPE_FORMULA(fill, 0, (void)a; return C(1))
JITTERSCOPE_FORMULA(add, 2, return a + b)
JITTERSCOPE_FORMULA(mul, 2, return a * b)
// A NaN stays one, as in the frameworks.
JITTERSCOPE_FORMULA(relu, 1, return a < C(0) ? C(0) : a)
JITTERSCOPE_FORMULA(relu6, 1, return a < C(0) ? C(0) : (a > C(6) ? C(6) : a))
JITTERSCOPE_FORMULA(sigmoid, 1, return logistic(a))
JITTERSCOPE_FORMULA(tanh, 1, return hyperbolic(a))
JITTERSCOPE_FORMULA(silu, 1, return a * logistic(a))
JITTERSCOPE_FORMULA(gelu, 1, return a * gauss<T>(a).cumulative)
// a is dy, b is what forward kept; where that is NaN, dy passes, as in PyTorch.
JITTERSCOPE_FORMULA(relu_backward, 2, return b <= C(0) ? C(0) : a)
JITTERSCOPE_FORMULA(relu6_backward, 2, return b <= C(0) || b >= C(6) ? C(0) : a)
JITTERSCOPE_FORMULA(sigmoid_backward, 2, return a * b * (C(1) - b))
JITTERSCOPE_FORMULA(tanh_backward, 2, return a * (C(1) - b * b))
JITTERSCOPE_FORMULA(silu_backward, 2, const C s = logistic(b); return a * s * (C(1) + b * (C(1) - s)))
JITTERSCOPE_FORMULA(gelu_backward, 2, const Gauss<C> g = gauss<T>(b);
                    return a * (g.cumulative + b * g.exponent * C(0.39894228040143267794)))

}  // namespace formula

template <class Op, class T>
__device__ __forceinline__ void apply_vector(T* out, const Vector<T>& a, const Vector<T>& b) {
  Vector<T> result;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) result.set(j, Op::template apply<T>(a.get(j), b.get(j)));
  result.store(out);
}

template <class Op, class T>
__device__ __forceinline__ Vector<T> input(int which, const T* from, std::uint64_t vector) {
  return Op::kInputs > which ? Vector<T>(from + vector * kPerVector<T>) : Vector<T>();
}

template <class Op, class T>
__device__ __forceinline__ void apply_single(T* out, const T* a, const T* b, std::uint64_t i) {
  const Compute<T> x = Op::kInputs > 0 ? Number<T>::load(a[i]) : Compute<T>();
  const Compute<T> y = Op::kInputs > 1 ? Number<T>::load(b[i]) : Compute<T>();
  out[i] = Number<T>::store(Op::template apply<T>(x, y));
}

// A block takes one stretch without gaps, reads all of it before the first use, and ends: the next stretch
// goes to whichever SM is free, so that none waits for the slowest. The last block has the elements that fill
// no vector as well.
template <class Op, class T>
__device__ __forceinline__ void elementwise(T* __restrict__ out, const T* __restrict__ a,
                                            const T* __restrict__ b, std::uint64_t count) {
  constexpr int kInFlight = vectors_in_flight(Op::kInputs);
  constexpr int kStretch = kBlockThreads * kInFlight;
  const std::uint64_t vectors = count / kPerVector<T>;
  const std::uint64_t begin = static_cast<std::uint64_t>(blockIdx.x) * kStretch;
  const std::uint64_t mine = begin + threadIdx.x;
  if (begin + kStretch <= vectors) {
    Vector<T> x[kInFlight], y[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      x[j] = input<Op>(0, a, mine + j * kBlockThreads);
      y[j] = input<Op>(1, b, mine + j * kBlockThreads);
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      apply_vector<Op>(out + (mine + j * kBlockThreads) * kPerVector<T>, x[j], y[j]);
    }
  } else {
    for (std::uint64_t i = mine; i < vectors; i += kBlockThreads) {
      apply_vector<Op>(out + i * kPerVector<T>, input<Op>(0, a, i), input<Op>(1, b, i));
    }
  }
  const std::uint64_t rest = vectors * kPerVector<T> + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < count) apply_single<Op>(out, a, b, rest);
}

}  // namespace

#define JITTERSCOPE_KERNEL(name, T, suffix)                                                                 \
  JITTERSCOPE_ENTRY(kBlockThreads, name##_##suffix, (T * out, const T* a, const T* b, std::uint64_t count), \
                    { elementwise<formula::name, T>(out, a, b, count); })
#define JITTERSCOPE_KERNELS(T, suffix)            \
  JITTERSCOPE_KERNEL(fill, T, suffix)             \
  JITTERSCOPE_KERNEL(add, T, suffix)              \
  JITTERSCOPE_KERNEL(mul, T, suffix)              \
  JITTERSCOPE_KERNEL(relu, T, suffix)             \
  JITTERSCOPE_KERNEL(relu6, T, suffix)            \
  JITTERSCOPE_KERNEL(sigmoid, T, suffix)          \
  JITTERSCOPE_KERNEL(tanh, T, suffix)             \
  JITTERSCOPE_KERNEL(silu, T, suffix)             \
  JITTERSCOPE_KERNEL(gelu, T, suffix)             \
  JITTERSCOPE_KERNEL(relu_backward, T, suffix)    \
  JITTERSCOPE_KERNEL(relu6_backward, T, suffix)   \
  JITTERSCOPE_KERNEL(sigmoid_backward, T, suffix) \
  JITTERSCOPE_KERNEL(tanh_backward, T, suffix)    \
  JITTERSCOPE_KERNEL(silu_backward, T, suffix)    \
  JITTERSCOPE_KERNEL(gelu_backward, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
