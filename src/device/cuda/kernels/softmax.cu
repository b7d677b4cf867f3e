// Softmax and its logarithm, with a block for each row, which reads the row once for the maximum, once for
// the sum and once for the result.
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::kMostRowThreads;

// In a row of only -inf each difference is NaN, as in PyTorch.
template <class T>
__device__ __forceinline__ void softmax_forward(T* y, const T* x, std::uint64_t columns, bool logarithm) {
  using C = Compute<T>;
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  const C largest = reduce_columns<Maximum>(
      C(-INFINITY), columns, [](C value) { return value; }, x);
  const C sum = reduce_columns<Sum>(
      C(0), columns, [&](C value) { return exp(value - largest); }, x);
  const C share = C(1) / sum, logarithm_of_sum = log(sum);
  const auto result = [&](std::uint64_t, C value) {
    return logarithm ? value - largest - logarithm_of_sum : exp(value - largest) * share;
  };
  map_columns(y, columns, result, x);
}

// dx = y (dy - sum(dy y)), or for the logarithm dy - e^y sum(dy).
template <class T>
__device__ __forceinline__ void softmax_backward(T* dx, const T* dy, const T* y, std::uint64_t columns,
                                                 bool logarithm) {
  using C = Compute<T>;
  dx += blockIdx.x * columns;
  dy += blockIdx.x * columns;
  y += blockIdx.x * columns;
  const auto term = [&](C outer, C result) { return logarithm ? outer : outer * result; };
  const C sum = reduce_columns<Sum>(C(0), columns, term, dy, y);
  const auto gradient = [&](std::uint64_t, C outer, C result) {
    return logarithm ? outer - exp(result) * sum : result * (outer - sum);
  };
  map_columns(dx, columns, gradient, dy, y);
}

}  // namespace

#define JITTERSCOPE_SOFTMAX(T, suffix)                                                        \
  JITTERSCOPE_ENTRY(kMostRowThreads, softmax_forward_##suffix,                                \
                    (T * y, const T* x, std::uint64_t columns, bool logarithm),               \
                    { softmax_forward(y, x, columns, logarithm); })                           \
  JITTERSCOPE_ENTRY(kMostRowThreads, softmax_backward_##suffix,                               \
                    (T * dx, const T* dy, const T* y, std::uint64_t columns, bool logarithm), \
                    { softmax_backward(dx, dy, y, columns, logarithm); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_SOFTMAX)
