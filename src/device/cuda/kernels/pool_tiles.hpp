// Tiles: what a thread computes where window and stride are known when its kernel is compiled. It reads all
// that it needs before the first use, and nearly every index is a constant.
#pragma once

#include "device/cuda/kernels/pool_shape.hpp"

namespace jitterscope::cuda {

/// Channels side by side in NHWC. An index has 8 bytes: two are one 16-byte access, and what a warp writes
/// has no gaps.
inline constexpr int kTileChannels = 2;
/// Of numbers of 16 bits, where C allows it: as many bytes of x as two of 32 have, in as many instructions.
/// Threads store their indices in pairs then, see pool_indices.cuh.
inline constexpr int kShortTileChannels = 4;

/// The longest rows, in elements, that maxima in pairs take: see pool_pairs.cuh.
inline constexpr int kWidestPairRow = 16000;

/// Outputs below one another. Two of a 3x3 window at stride 2 share one of 5 rows of x, in 40 registers where
/// four would need 80.
JITTERSCOPE_HOST_DEVICE constexpr int forward_tile_rows(int window, bool channels_last) {
  return window == 2 && !channels_last ? 4 : 2;
}

/// Columns of dx. Its rows are counted in strides, since each begins where a window does.
inline constexpr int kBackwardTileColumns = 2;
/// `channels`: of a thread, 0 in NCHW. Maxima of four channels are those that read ahead: with fewer strides
/// too much is read twice (H200, f16: three are 5 % of the copy's bandwidth behind four, eight are 4 %).
JITTERSCOPE_HOST_DEVICE constexpr int backward_tile_strides(bool is_max, int channels) {
  return channels == 0 || (is_max && channels == kShortTileChannels) ? 4 : 2;
}
/// Blocks of a maximum's gradient, channels last, that are to find room on an SM: with 64 registers instead
/// of 80 it is 4 % of the copy's bandwidth faster (H200, f16); at stride 1 they would not suffice.
JITTERSCOPE_HOST_DEVICE constexpr int backward_tile_together(int channels, int stride) {
  return channels == kShortTileChannels && stride == 2 ? 4 : 1;
}

/// So few that an item's place is found with 32 bits, in half of the instructions that 64 take.
inline constexpr std::uint64_t kMostTiles = (std::uint64_t{1} << 31) - 1;

template <int Channels>
JITTERSCOPE_HOST_DEVICE PoolShape::Place tile_place(const PoolShape& shape, std::uint32_t item) {
  std::int32_t channel = 0;
  if constexpr (Channels > 0) {
    channel = static_cast<std::int32_t>(shape.by_channel_groups.narrow_split(item)) * Channels;
  }
  const auto column = static_cast<std::int32_t>(shape.by_columns.narrow_split(item));
  const auto row = static_cast<std::int32_t>(shape.by_rows.narrow_split(item));
  return {item, row, column, channel};
}

JITTERSCOPE_HOST_DEVICE bool is_inside(std::int32_t at, std::int32_t size) {
  return static_cast<std::uint32_t>(at) < static_cast<std::uint32_t>(size);
}

/// The windows over `Elements` in line, the first of which lies `Phase` behind the beginning of window 0.
template <int Elements, int Window, int Stride, int Phase>
struct WindowsOver {
  static constexpr int kFirst = -((Window - 1 - Phase) / Stride);
  static constexpr int kCount = (Phase + Elements - 1) / Stride - kFirst + 1;

  /// Whether the window, counted from kFirst, covers the element.
  JITTERSCOPE_HOST_DEVICE static constexpr bool covers(int window, int element) {
    const int tap = Phase + element - (window + kFirst) * Stride;
    return tap >= 0 && tap < Window;
  }
};

}  // namespace jitterscope::cuda
