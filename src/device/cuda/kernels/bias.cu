// y = x + bias of the channel, and a bias copied into every row of y for a product with bias.
#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

using jitterscope::cuda::ChannelShape;
using jitterscope::cuda::kBlockThreads;

}  // namespace

#define JITTERSCOPE_BIAS(T, suffix)                                                                       \
  JITTERSCOPE_ENTRY(kBlockThreads, bias_add_##suffix,                                                     \
                    (T * y, const T* x, const T* bias, ChannelShape shape), {                             \
                      const auto sum = [&](std::uint64_t i, Compute<T> value) {                           \
                        return value + Number<T>::load(bias[shape.channel(i)]);                           \
                      };                                                                                  \
                      map_elements(y, shape.count, sum, x);                                               \
                    })                                                                                    \
  JITTERSCOPE_ENTRY(kBlockThreads, bias_broadcast_##suffix, (T * y, const T* bias, ChannelShape shape), { \
    const auto found = [&](std::uint64_t i) { return Number<T>::load(bias[shape.channel(i)]); };          \
    map_elements(y, shape.count, found);                                                                  \
  })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_BIAS)
