// Which channel an element of a 4-D tensor belongs to.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// `inner` elements in line are of one channel: h*w of them in NCHW, one in NHWC.
struct ChannelShape {
  std::uint64_t count = 0;  ///< elements of the tensor
  FastDivisor inner, channels;

  static ChannelShape make(std::int64_t n, std::int64_t c, std::int64_t plane, bool channels_last) {
    ChannelShape shape;
    shape.count = static_cast<std::uint64_t>(n * c * plane);
    shape.inner = FastDivisor(channels_last ? 1 : plane);
    shape.channels = FastDivisor(c);
    return shape;
  }
  JITTERSCOPE_HOST_DEVICE std::uint32_t channel(std::uint64_t element) const {
    std::uint64_t n = inner.quotient(element);
    return static_cast<std::uint32_t>(channels.split(n));
  }
};

}  // namespace jitterscope::cuda
