// Which channel an element of a 4-D tensor belongs to.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// `inner` elements in line are of one channel: h*w of them in NCHW, one in NHWC.
struct ChannelShape {
  std::uint64_t count = 0;  ///< elements of the tensor
  FastDivisor inner, channels;
  /// How the elements of one vector lie: in one channel, in channels side by side, or anyhow.
  enum Vectors : std::int32_t { kOneChannel, kSideBySide, kMixed } vectors = kMixed;

  static ChannelShape make(std::int64_t n, std::int64_t c, std::int64_t plane, bool channels_last,
                           int per_vector) {
    ChannelShape shape;
    shape.count = static_cast<std::uint64_t>(n * c * plane);
    const std::int64_t inner = channels_last ? 1 : plane;
    shape.inner = FastDivisor(inner);
    shape.channels = FastDivisor(c);
    if (inner % per_vector == 0) {
      shape.vectors = kOneChannel;
    } else if (inner == 1 && c % per_vector == 0) {
      shape.vectors = kSideBySide;
    }
    return shape;
  }
  JITTERSCOPE_HOST_DEVICE std::uint32_t channel(std::uint64_t element) const {
    std::uint64_t n = inner.quotient(element);
    return static_cast<std::uint32_t>(channels.split(n));
  }
};

}  // namespace jitterscope::cuda
