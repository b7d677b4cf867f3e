// How blocks share planes that are too small for a group of threads each.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// Planes that a block reads into shared memory, one after the other as they lie, so that every access takes
/// 16 bytes wherever planes begin; a thread, or a few, then add up each.
struct PlaneStage {
  static constexpr std::int64_t kBytes = 25088;  ///< 128 planes of 7x7 in f32; nine blocks of it fit on an SM
  static constexpr int kFewestPlanes = 32;       ///< fewer would leave threads of the sums without work

  /// A power of two, so that blocks begin at whole vectors; 0 where planes are too large.
  static int planes_each(std::int64_t plane_bytes) {
    int planes = static_cast<int>(kBlockThreads);
    while (planes >= kFewestPlanes && planes * plane_bytes > kBytes) planes /= 2;
    return planes >= kFewestPlanes ? planes : 0;
  }

  /// Backward, where blocks only write: a half of that for each (H200: f32 and f16 of 7x7 are fastest so).
  static constexpr std::int64_t kSpreadBytes = kBytes / 2;
  static constexpr int kFewestSpread = 16;  ///< a vector of the smallest type holds no more elements
  static int spread_each(std::int64_t plane_bytes) {
    int planes = static_cast<int>(kBlockThreads);
    while (planes >= kFewestSpread && planes * plane_bytes > kSpreadBytes) planes /= 2;
    return planes >= kFewestSpread ? planes : 0;
  }

  /// Channels last: the lanes of a block that have vectors of channels side by side.
  static constexpr int kChannelLanes = 32;
  /// Backward: so many elements of a plane are written by the thread that holds its vector of dy.
  static constexpr int kChannelElements = 4;
};

}  // namespace jitterscope::cuda
