// y = x + bias of the channel.
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

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                              \
  JITTERSCOPE_ENTRY(256, bias_add_##suffix, (T * y, const T* x, const T* bias, ChannelShape shape), \
                    { map_channels<T, T>(y, x, x, AddBias<T>{{bias}}, shape); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
