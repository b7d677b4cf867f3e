// Layer normalization, a block for each row. The weights' gradients are sums over columns, in two steps.
#include "device/cuda/kernels/column_sums.cuh"
#include "device/cuda/kernels/norm.cuh"
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::kMostRowThreads;
using jitterscope::cuda::kSumThreads;

// The variance is computed around the mean in its own pass, which keeps it right far from zero.
template <class T>
__device__ __forceinline__ void layer_norm_forward(T* y, Compute<T>* mean, Compute<T>* deviation, const T* x,
                                                   const T* weight, const T* bias, std::uint64_t columns) {
  using C = Compute<T>;
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  const C count = static_cast<C>(columns);
  const C center = reduce_columns<Sum>(
                       C(0), columns, [](C value) { return value; }, x) /
                   count;
  const auto square = [&](C value) { return (value - center) * (value - center); };
  const C scale = deviation_of(reduce_columns<Sum>(C(0), columns, square, x) / count);
  const auto result = [&](std::uint64_t, C value, C w, C b) { return (value - center) * scale * w + b; };
  map_columns(y, columns, result, x, weight, bias);
  if (threadIdx.x != 0) return;
  mean[blockIdx.x] = center;
  deviation[blockIdx.x] = scale;
}

// With g = dy weight and z = (x - mean) deviation: dx = deviation (g - mean of g - z mean of (g z)).
template <class T>
__device__ __forceinline__ void layer_norm_backward(T* dx, const T* dy, const T* x, const T* weight,
                                                    const Compute<T>* mean, const Compute<T>* deviation,
                                                    std::uint64_t columns) {
  using C = Compute<T>;
  dx += blockIdx.x * columns;
  dy += blockIdx.x * columns;
  x += blockIdx.x * columns;
  const C count = static_cast<C>(columns), center = mean[blockIdx.x], scale = deviation[blockIdx.x];
  const auto term = [](C outer, C w) { return outer * w; };
  const C mean_outer = reduce_columns<Sum>(C(0), columns, term, dy, weight) / count;
  const auto product = [&](C outer, C value, C w) { return outer * w * (value - center) * scale; };
  const C mean_product = reduce_columns<Sum>(C(0), columns, product, dy, x, weight) / count;
  const auto gradient = [&](std::uint64_t, C outer, C value, C w) {
    return scale * (outer * w - mean_outer - (value - center) * scale * mean_product);
  };
  map_columns(dx, columns, gradient, dy, x, weight);
}

/// dbias sums dy; dweight sums dy times the normalized x.
template <class T>
struct WeightTerms {
  const T *dy, *x;
  const Compute<T>*mean, *deviation;
  std::uint32_t columns;

  __device__ void add(std::uint64_t row, std::uint32_t column, Compute<T>& a, Compute<T>& b) const {
    const Compute<T> outer = Number<T>::load(dy[row * columns + column]);
    a += outer;
    b += outer * (Number<T>::load(x[row * columns + column]) - mean[row]) * deviation[row];
  }
};

template <class T>
__device__ __forceinline__ void finish_weights(T* dweight, T* dbias, const PartialSums<Compute<T>>& sums,
                                               std::uint32_t parts) {
  std::uint32_t column;
  Compute<T> a, b;
  if (!sum_parts(sums, parts, column, a, b)) return;
  dbias[column] = Number<T>::store(a);
  dweight[column] = Number<T>::store(b);
}

}  // namespace

#define JITTERSCOPE_LAYER_NORM(T, suffix)                                                           \
  JITTERSCOPE_ENTRY(kMostRowThreads, layer_norm_forward_##suffix,                                   \
                    (T * y, Compute<T> * mean, Compute<T> * deviation, const T* x, const T* weight, \
                     const T* bias, std::uint64_t columns),                                         \
                    { layer_norm_forward(y, mean, deviation, x, weight, bias, columns); })          \
  JITTERSCOPE_ENTRY(kMostRowThreads, layer_norm_backward_##suffix,                                  \
                    (T * dx, const T* dy, const T* x, const T* weight, const Compute<T>* mean,      \
                     const Compute<T>* deviation, std::uint64_t columns),                           \
                    { layer_norm_backward(dx, dy, x, weight, mean, deviation, columns); })          \
  JITTERSCOPE_ENTRY(kSumThreads, layer_norm_weight_sums_##suffix,                                   \
                    (PartialSums<Compute<T>> sums, WeightTerms<T> terms, std::uint64_t rows),       \
                    { sum_part(sums, terms, rows); })                                               \
  JITTERSCOPE_ENTRY(kSumThreads, layer_norm_weights_##suffix,                                       \
                    (T * dweight, T * dbias, PartialSums<Compute<T>> sums, std::uint32_t parts),    \
                    { finish_weights(dweight, dbias, sums, parts); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_LAYER_NORM)
