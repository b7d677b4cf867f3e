// Batch normalization: sums of each channel, statistics or gradients from them, one pass over the elements.
#include "device/cuda/kernels/column_sums.cuh"
#include "device/cuda/kernels/norm.cuh"
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

using jitterscope::cuda::ChannelShape;
using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::kMostRowThreads;
using jitterscope::cuda::kSumThreads;

constexpr double kRunningShare = 0.1;

/// Weights in the tensors' own type, or in the wider type of the arithmetic.
template <class T>
struct ChannelWeights {
  void* numbers;
  bool wide;
  __device__ Compute<T> get(std::uint32_t channel) const {
    if (wide) return static_cast<const Compute<T>*>(numbers)[channel];
    return Number<T>::load(static_cast<const T*>(numbers)[channel]);
  }
  __device__ void set(std::uint32_t channel, Compute<T> value) const {
    if (wide) {
      static_cast<Compute<T>*>(numbers)[channel] = value;
    } else {
      static_cast<T*>(numbers)[channel] = Number<T>::store(value);
    }
  }
};

/// Sums x, and the squares of its distance from the channel's first element, which keeps the variance right
/// if the mean is large.
template <class T>
struct MomentTerms {
  const T* x;
  std::uint64_t origin_stride;  ///< from one channel's first element to the next's
  __device__ Compute<T> origin(std::uint32_t channel) const {
    return Number<T>::load(x[channel * origin_stride]);
  }
  __device__ void add(std::uint64_t element, std::uint32_t channel, Compute<T>& a, Compute<T>& b) const {
    const Compute<T> value = Number<T>::load(x[element]), difference = value - origin(channel);
    a += value;
    b += difference * difference;
  }
};
/// Sums dy, and dy (x - mean).
template <class T>
struct ProductTerms {
  const T *x, *dy;
  const Compute<T>* mean;
  __device__ void add(std::uint64_t element, std::uint32_t channel, Compute<T>& a, Compute<T>& b) const {
    const Compute<T> outer = Number<T>::load(dy[element]);
    a += outer;
    b += outer * (Number<T>::load(x[element]) - mean[channel]);
  }
};

/// For channels last: rows of a matrix whose columns are channels.
template <class Terms>
struct PixelTerms {
  Terms terms;
  std::uint32_t channels;
  template <class C>
  __device__ void add(std::uint64_t row, std::uint32_t channel, C& a, C& b) const {
    terms.add(row * channels + channel, channel, a, b);
  }
};

/// For NCHW: a block sums one plane after the other; each image is a part.
template <class C, class Terms>
__device__ __forceinline__ void sum_planes(const PartialSums<C>& to, const Terms& terms, std::uint64_t planes,
                                           std::uint64_t elements) {
  for (std::uint64_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
    const std::uint64_t image = plane / to.columns;
    const auto channel = static_cast<std::uint32_t>(plane % to.columns);
    C a = 0, b = 0;
#pragma unroll 4
    for (std::uint64_t i = threadIdx.x; i < elements; i += blockDim.x) {
      terms.add(plane * elements + i, channel, a, b);
    }
    a = reduce_block<Sum>(a);
    b = reduce_block<Sum>(b);
    if (threadIdx.x != 0) continue;
    to.first(image)[channel] = a;
    to.second(image)[channel] = b;
  }
}

/// Also updates the running averages, which are no operands, as training does.
template <class T>
__device__ __forceinline__ void finish_statistics(Compute<T>* mean, Compute<T>* deviation,
                                                  Compute<T>* running, const PartialSums<Compute<T>>& sums,
                                                  std::uint32_t parts, std::uint64_t elements,
                                                  const MomentTerms<T>& terms) {
  using C = Compute<T>;
  std::uint32_t channel;
  C sum, square;
  if (!sum_parts(sums, parts, channel, sum, square)) return;
  const C count = static_cast<C>(elements);
  mean[channel] = sum / count;
  const C shift = mean[channel] - terms.origin(channel);
  const C spread = square / count - shift * shift;
  const C variance = spread < C(0) ? C(0) : spread;
  deviation[channel] = deviation_of(variance);
  C* running_variance = running + sums.columns;
  const C unbiased = count > C(1) ? variance * count / (count - C(1)) : variance;
  running[channel] += C(kRunningShare) * (mean[channel] - running[channel]);
  running_variance[channel] += C(kRunningShare) * (unbiased - running_variance[channel]);
}

/// Writes to `means` each channel's mean of dy, then its mean of dy (x - mean) times the deviation squared.
template <class T>
__device__ __forceinline__ void finish_gradients(const ChannelWeights<T>& dweight,
                                                 const ChannelWeights<T>& dbias, Compute<T>* means,
                                                 const Compute<T>* deviation,
                                                 const PartialSums<Compute<T>>& sums, std::uint32_t parts,
                                                 std::uint64_t elements) {
  std::uint32_t channel;
  Compute<T> outer, product;
  if (!sum_parts(sums, parts, channel, outer, product)) return;
  const Compute<T> scale = deviation[channel], count = static_cast<Compute<T>>(elements);
  dbias.set(channel, outer);
  dweight.set(channel, product * scale);
  means[channel] = outer / count;
  means[sums.columns + channel] = product / count * scale * scale;
}

/// `deviation` holds the variance if `is_variance`, as in inference.
template <class T>
__device__ __forceinline__ void normalize(T* y, const T* x, const Compute<T>* mean,
                                          const Compute<T>* deviation, bool is_variance,
                                          const ChannelWeights<T>& weight, const ChannelWeights<T>& bias,
                                          const ChannelShape& shape) {
  const auto result = [&](std::uint64_t i, Compute<T> value) {
    const std::uint32_t c = shape.channel(i);
    const Compute<T> scale = is_variance ? deviation_of(deviation[c]) : deviation[c];
    return (value - mean[c]) * scale * weight.get(c) + bias.get(c);
  };
  map_elements(y, shape.count, result, x);
}

template <class T>
__device__ __forceinline__ void normalize_backward(T* dx, const T* dy, const T* x, const Compute<T>* mean,
                                                   const Compute<T>* deviation, const Compute<T>* means,
                                                   const ChannelWeights<T>& weight,
                                                   const ChannelShape& shape) {
  const auto gradient = [&](std::uint64_t i, Compute<T> outer, Compute<T> value) {
    const std::uint32_t c = shape.channel(i);
    const Compute<T> of_product = means[shape.channels.divisor + c];
    return weight.get(c) * deviation[c] * (outer - means[c] - (value - mean[c]) * of_product);
  };
  map_elements(dx, shape.count, gradient, dy, x);
}

}  // namespace

// Kernels that sum: over planes (NCHW), and over pixels (channels last).
#define JITTERSCOPE_SUMS(Terms, name, T, suffix)                                                    \
  JITTERSCOPE_ENTRY(                                                                                \
      kMostRowThreads, batch_norm_##name##_planes_##suffix,                                         \
      (PartialSums<Compute<T>> sums, Terms<T> terms, std::uint64_t planes, std::uint64_t elements), \
      { sum_planes(sums, terms, planes, elements); })                                               \
  JITTERSCOPE_ENTRY(kSumThreads, batch_norm_##name##_pixels_##suffix,                               \
                    (PartialSums<Compute<T>> sums, Terms<T> terms, std::uint64_t rows), {           \
                      sum_part(sums, PixelTerms<Terms<T>>{terms, sums.columns}, rows);              \
                    })
#define JITTERSCOPE_BATCH_NORM(T, suffix)                                                                   \
  JITTERSCOPE_SUMS(MomentTerms, moments, T, suffix)                                                         \
  JITTERSCOPE_SUMS(ProductTerms, products, T, suffix)                                                       \
  JITTERSCOPE_ENTRY(                                                                                        \
      kSumThreads, batch_norm_statistics_##suffix,                                                          \
      (Compute<T> * mean, Compute<T> * deviation, Compute<T> * running, PartialSums<Compute<T>> sums,       \
       std::uint32_t parts, std::uint64_t elements, MomentTerms<T> terms),                                  \
      { finish_statistics(mean, deviation, running, sums, parts, elements, terms); })                       \
  JITTERSCOPE_ENTRY(                                                                                        \
      kSumThreads, batch_norm_gradients_##suffix,                                                           \
      (ChannelWeights<T> dweight, ChannelWeights<T> dbias, Compute<T> * means, const Compute<T>* deviation, \
       PartialSums<Compute<T>> sums, std::uint32_t parts, std::uint64_t elements),                          \
      { finish_gradients(dweight, dbias, means, deviation, sums, parts, elements); })                       \
  JITTERSCOPE_ENTRY(                                                                                        \
      kBlockThreads, batch_norm_forward_##suffix,                                                           \
      (T * y, const T* x, const Compute<T>* mean, const Compute<T>* deviation, bool is_variance,            \
       ChannelWeights<T> weight, ChannelWeights<T> bias, ChannelShape shape),                               \
      { normalize(y, x, mean, deviation, is_variance, weight, bias, shape); })                              \
  JITTERSCOPE_ENTRY(kBlockThreads, batch_norm_backward_##suffix,                                            \
                    (T * dx, const T* dy, const T* x, const Compute<T>* mean, const Compute<T>* deviation,  \
                     const Compute<T>* means, ChannelWeights<T> weight, ChannelShape shape),                \
                    { normalize_backward(dx, dy, x, mean, deviation, means, weight, shape); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_BATCH_NORM)
