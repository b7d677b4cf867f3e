// From each channel's partial sums to what batch normalization keeps, and to what its last kernel needs.
#include "device/cuda/kernels/column_sums.cuh"

namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

__device__ __forceinline__ float inverse_root(float x) { return rsqrtf(x); }
__device__ __forceinline__ double inverse_root(double x) { return 1.0 / sqrt(x); }

/// Partial sums of two terms: parts x channels, each part over some of a channel's `elements`.
template <class C>
struct Parts {
  const C *first, *second;
  std::uint32_t parts, channels;
  std::uint64_t elements;

  /// The sums over a channel divided by its elements. False for threads that have no channel.
  __device__ bool means(std::uint32_t& channel, C& a, C& b) const {
    add_parts(first, second, parts, channels, a, b);
    channel = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x >= 32 || channel >= channels) return false;
    a /= static_cast<C>(elements);
    b /= static_cast<C>(elements);
    return true;
  }
};

/// `numbers`: weight * deviation, then bias. `running`: mean, then variance. Weights are of type W.
template <class C, class W>
struct Statistics {
  C *mean, *deviation, *numbers, *running;
  const W *weight, *bias;
};

template <class T, class W>
__device__ __forceinline__ void finish_statistics(const Statistics<Compute<T>, W>& s,
                                                  const Parts<Compute<T>>& parts, const T* x,
                                                  std::uint64_t channel_stride) {
  using C = Compute<T>;
  std::uint32_t channel = 0;
  C mean = 0, square = 0;
  if (!parts.means(channel, mean, square)) return;
  const C shift = mean - Number<T>::load(x[channel * channel_stride]);
  const C spread = square - shift * shift;
  const C variance = spread < C(0) ? C(0) : spread;
  const C deviation = inverse_root(variance + C(kEpsilon));
  const std::uint32_t channels = parts.channels;
  s.mean[channel] = mean;
  s.deviation[channel] = deviation;
  s.numbers[channel] = Number<W>::load(s.weight[channel]) * deviation;
  s.numbers[channels + channel] = Number<W>::load(s.bias[channel]);
  // The running variance is the unbiased one.
  const C elements = static_cast<C>(parts.elements);
  const C unbiased = elements > C(1) ? variance * elements / (elements - C(1)) : variance;
  s.running[channel] += C(kMomentum) * (mean - s.running[channel]);
  s.running[channels + channel] += C(kMomentum) * (unbiased - s.running[channels + channel]);
}

/// `numbers`: weight * deviation, mean of dy, mean of dy (x - mean) times deviation squared.
template <class C, class W>
struct Gradients {
  W *dweight, *dbias;
  C* numbers;
  const W* weight;
  const C* deviation;
};

template <class C, class W>
__device__ __forceinline__ void finish_gradients(const Gradients<C, W>& g, const Parts<C>& parts) {
  std::uint32_t channel = 0;
  C outer = 0, product = 0;
  if (!parts.means(channel, outer, product)) return;
  const C deviation = g.deviation[channel];
  const std::uint32_t channels = parts.channels;
  g.dbias[channel] = Number<W>::store(outer * static_cast<C>(parts.elements));
  g.dweight[channel] = Number<W>::store(product * static_cast<C>(parts.elements) * deviation);
  g.numbers[channel] = Number<W>::load(g.weight[channel]) * deviation;
  g.numbers[channels + channel] = outer;
  g.numbers[2 * channels + channel] = product * deviation * deviation;
}

// Inference: the statistics are given.
template <class C, class W>
__device__ __forceinline__ void finish_fixed(C* numbers, const C* variance, const W* weight, const W* bias,
                                             std::uint32_t channels) {
  const std::uint64_t channel = first_index();
  if (channel >= channels) return;
  numbers[channel] = Number<W>::load(weight[channel]) * inverse_root(variance[channel] + C(kEpsilon));
  numbers[channels + channel] = Number<W>::load(bias[channel]);
}

}  // namespace

// Weights as wide as what is computed, or of the tensors' own type.
#define JITTERSCOPE_WEIGHTS(T, suffix, weights, W)                                                          \
  JITTERSCOPE_ENTRY(                                                                                        \
      1024, batch_norm_statistics_##weights##_##suffix,                                                     \
      (Statistics<Compute<T>, W> s, Parts<Compute<T>> parts, const T* x, std::uint64_t channel_stride),     \
      { finish_statistics<T>(s, parts, x, channel_stride); })                                               \
  JITTERSCOPE_ENTRY(1024, batch_norm_gradients_##weights##_##suffix,                                        \
                    (Gradients<Compute<T>, W> g, Parts<Compute<T>> parts), { finish_gradients(g, parts); }) \
  JITTERSCOPE_ENTRY(256, batch_norm_fixed_##weights##_##suffix,                                             \
                    (Compute<T> * numbers, const Compute<T>* variance, const W* weight, const W* bias,      \
                     std::uint32_t channels),                                                               \
                    { finish_fixed(numbers, variance, weight, bias, channels); })
#define JITTERSCOPE_KERNELS(T, suffix)             \
  JITTERSCOPE_WEIGHTS(T, suffix, wide, Compute<T>) \
  JITTERSCOPE_WEIGHTS(T, suffix, own, T)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
