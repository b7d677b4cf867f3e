// Layer normalization, forward, over rows too long for registers: each is read twice, the second time from
// the cache (see softmax_streamed.cu).
#include "device/cuda/kernels/layer_norm.cuh"
#include "device/cuda/kernels/long_row.cuh"

namespace {

constexpr int kThreads = 512;
constexpr int kUnroll = 4;

// Squares around the row's first element, which keeps the variance right where the mean is large.
template <class T>
struct Around {
  Compute<T> origin, sum = 0, squares = 0;

  __device__ __forceinline__ void add(Compute<T> x) {
    sum += x - origin;
    squares += (x - origin) * (x - origin);
  }
  __device__ __forceinline__ Moments<Compute<T>> moments(std::uint64_t columns) {
    using C = Compute<T>;
    const C mean = reduce_group<kThreads, Sum>(sum) / static_cast<C>(columns);
    const C square = reduce_group<kThreads, Sum>(squares) / static_cast<C>(columns);
    return {origin + mean, inverse_root(Maximum()(square - mean * mean, C(0)) + C(kEpsilon))};
  }
};

template <class T>
__device__ __forceinline__ Moments<Compute<T>> moments_of(const T* x, const LongRow<T, kThreads>& row,
                                                          std::uint64_t columns) {
  Around<T> around{Number<T>::load(x[blockIdx.x * columns])};
  row.template for_each_batch<kUnroll>([&](std::uint32_t first) {
    Vector<T> values[kUnroll];
    row.load(x, first, values);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      if (k >= row.template present<kUnroll>(first)) break;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) around.add(values[k].get(j));
    }
  });
  if (row.has_edge) around.add(Number<T>::load(x[row.edge]));
  return around.moments(columns);
}

/// Weights at a vector of the row, which begins anywhere in theirs.
template <class T>
__device__ __forceinline__ Vector<T> load_weights(const T* weights, std::uint64_t column, bool aligned) {
  if (aligned) return Vector<T>(weights + column);
  Vector<T> v;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) v.part[j] = weights[column + j];
  return v;
}

template <class T>
__device__ __forceinline__ void forward_streamed(const Forward<T>& tensors, std::uint64_t columns) {
  const LongRow<T, kThreads> row(blockIdx.x, columns);
  const std::uint64_t start = blockIdx.x * columns;
  const bool aligned = columns % kPerVector<T> == 0;
  const Moments<Compute<T>> moments = moments_of(tensors.x, row, columns);
  if (threadIdx.x == 0) moments.store(tensors, blockIdx.x);
  row.template for_each_batch<kUnroll>([&](std::uint32_t first) {
    Vector<T> values[kUnroll];
    row.load(tensors.x, first, values);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      if (k >= row.template present<kUnroll>(first)) break;
      const std::uint64_t at = row.at(first + k * kThreads);
      const Vector<T> weight = load_weights(tensors.weight, at - start, aligned);
      const Vector<T> bias = load_weights(tensors.bias, at - start, aligned);
      moments.normalized(values[k], weight, bias).store(tensors.y + at);
    }
  });
  if (row.has_edge) {
    const std::uint64_t column = row.edge - start;
    tensors.y[row.edge] = Number<T>::store(moments.apply(Number<T>::load(tensors.x[row.edge]),
                                                         Number<T>::load(tensors.weight[column]),
                                                         Number<T>::load(tensors.bias[column])));
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                          \
  JITTERSCOPE_ENTRY(kThreads, layer_norm_forward_streamed_##suffix,             \
                    (Forward<T> tensors, std::uint64_t, std::uint64_t columns), \
                    { forward_streamed<T>(tensors, columns); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
