// Pooling as its kernels see it: channels last, and NCHW as n*c planes of one channel each.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// First and one past the last.
struct Range {
  std::int32_t begin, end;
};

/// One of the two directions of a window, over `size` elements and `out` windows.
struct PoolAxis {
  std::int32_t size = 1, out = 1, window = 1, stride = 1, pad = 0;
  FastDivisor by_stride;

  /// What the window covers, the padding left out.
  JITTERSCOPE_HOST_DEVICE Range covered(std::int32_t output) const {
    const std::int32_t begin = output * stride - pad;
    const std::int32_t end = begin + window;
    return {begin < 0 ? 0 : begin, end > size ? size : end};
  }
  /// The windows that cover an element.
  JITTERSCOPE_HOST_DEVICE Range windows(std::int32_t element) const {
    const std::int32_t last = element + pad;
    const std::int32_t first = last - window + stride;  // one stride past the last window that ends before it
    const auto quotient = [this](std::int32_t n) {
      return static_cast<std::int32_t>(by_stride.quotient(static_cast<std::uint64_t>(n)));
    };
    const std::int32_t begin = first < 0 ? 0 : quotient(first);
    const std::int32_t end = quotient(last) + 1;
    return {begin, end > out ? out : end};
  }
};

/// Indices of a plane and places of windows are numbers of 32 bits, and the sum of two places as well.
inline constexpr std::int64_t kLargestPoolPlane = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kLargestPoolSide = (std::int64_t{1} << 30) - 1;

struct PoolShape {
  std::uint64_t items = 0;  ///< elements that are written
  PoolAxis h, w;
  FastDivisor by_channels, by_columns, by_rows;  ///< how the number of such an element falls apart

  /// A window may be almost all padding, and so larger than any plane.
  JITTERSCOPE_HOST_DEVICE std::int64_t window_elements() const { return std::int64_t{h.window} * w.window; }

  struct Place {
    std::uint64_t plane, channel;
    std::int32_t row, column;
  };
  JITTERSCOPE_HOST_DEVICE Place place(std::uint64_t item) const {
    Place place{};
    place.channel = by_channels.split(item);
    place.column = static_cast<std::int32_t>(by_columns.split(item));
    place.row = static_cast<std::int32_t>(by_rows.split(item));
    place.plane = item;
    return place;
  }
  JITTERSCOPE_HOST_DEVICE std::uint64_t input_at(const Place& p, std::int32_t row,
                                                 std::int32_t column) const {
    return ((p.plane * h.size + row) * w.size + column) * by_channels.divisor + p.channel;
  }
  JITTERSCOPE_HOST_DEVICE std::uint64_t output_at(const Place& p, std::int32_t row,
                                                  std::int32_t column) const {
    return ((p.plane * h.out + row) * w.out + column) * by_channels.divisor + p.channel;
  }
};

}  // namespace jitterscope::cuda
