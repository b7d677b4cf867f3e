// y = x + bias of the channel, and a bias in every row of y.
#include "device/cuda/kernels/channel_map.cuh"

namespace {

template <class T>
struct AddBias {
  static constexpr int kInputs = 1, kNumbers = 1;
  const T* numbers[1];
  __device__ Compute<T> value(Compute<T> x, Compute<T>, const Compute<T> (&bias)[1]) const {
    return x + bias[0];
  }
};

// As a product with bias needs it: the rest is added to it.
template <class T>
__device__ __forceinline__ void broadcast(T* __restrict__ y, const T* __restrict__ bias,
                                          const ChannelShape& shape) {
  for (std::uint64_t i = first_index(); i < shape.count; i += index_step()) y[i] = bias[shape.channel(i)];
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                              \
  JITTERSCOPE_ENTRY(256, bias_add_##suffix, (T * y, const T* x, const T* bias, ChannelShape shape), \
                    { map_channels_once<T, T>(y, x, AddBias<T>{{bias}}, shape); })                  \
  JITTERSCOPE_ENTRY(256, bias_broadcast_##suffix, (T * y, const T* bias, ChannelShape shape),       \
                    { broadcast(y, bias, shape); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
