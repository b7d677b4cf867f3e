// Batch normalization, element by element: what remains once every channel's sums are known.
#include "device/cuda/kernels/channel_map.cuh"

namespace {

/// Numbers: mean, weight * deviation, bias.
template <class C>
struct Normalize {
  static constexpr int kInputs = 1, kNumbers = 3;
  const C* numbers[3];
  __device__ C value(C x, C, const C (&n)[3]) const { return (x - n[0]) * n[1] + n[2]; }
};
/// a is dy, b is x. Numbers: mean, weight * deviation, mean of dy, mean of dy (x - mean) * deviation^2.
template <class C>
struct Gradient {
  static constexpr int kInputs = 2, kNumbers = 4;
  const C* numbers[4];
  __device__ C value(C dy, C x, const C (&n)[4]) const { return n[1] * (dy - n[2] - (x - n[0]) * n[3]); }
};

}  // namespace

// `numbers` are rows of as many numbers as there are channels, each beginning at `stride` of the one before.
#define JITTERSCOPE_KERNELS(T, suffix)                                                                   \
  JITTERSCOPE_ENTRY(256, batch_norm_normalize_##suffix,                                                  \
                    (T * y, const T* x, const Compute<T>* mean, const Compute<T>* numbers,               \
                     std::uint64_t stride, ChannelShape shape),                                          \
                    {                                                                                    \
                      map_channels<T, Compute<T>>(                                                       \
                          y, x, x, Normalize<Compute<T>>{{mean, numbers, numbers + stride}}, shape);     \
                    })                                                                                   \
  JITTERSCOPE_ENTRY(256, batch_norm_gradient_##suffix,                                                   \
                    (T * dx, const T* dy, const T* x, const Compute<T>* mean, const Compute<T>* numbers, \
                     std::uint64_t stride, ChannelShape shape),                                          \
                    {                                                                                    \
                      map_channels<T, Compute<T>>(                                                       \
                          dx, dy, x,                                                                     \
                          Gradient<Compute<T>>{{mean, numbers, numbers + stride, numbers + 2 * stride}}, \
                          shape);                                                                        \
                    })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
