// Eight columns of an NCHW plane at once: what a thread pools where window, stride and padding are known when
// its kernel is compiled, and rows are whole numbers of eight elements. All but the columns at the edges are
// read and written 16 bytes at a time.
#pragma once

#include "device/cuda/kernels/pool_tiles.hpp"

namespace jitterscope::cuda {

inline constexpr int kRowColumns = 8;

/// Eight elements of x and the windows that begin among them, less the padding.
template <int Window, int Stride, int Pad>
struct RowPools {
  static constexpr int kWindows = kRowColumns / Stride;
  /// Elements before and after the eight that the windows cover as well.
  static constexpr int kLeft = Pad, kRight = Window > Stride + Pad ? Window - Stride - Pad : 0;
  /// Windows before and after those that cover some of the eight as well.
  static constexpr int kWindowsLeft = (Window - 1 - Pad) / Stride;
  static constexpr int kWindowsRight = Pad > 0 ? (Pad - 1) / Stride + 1 : 0;
};

/// Rows of outputs of a thread: two of a 3x3 window at stride 2 share one of 5 rows of x.
inline constexpr int kForwardRowOutputs = 2;
/// Rows of dx of a thread, in strides.
inline constexpr int kBackwardRowStrides = 2;

}  // namespace jitterscope::cuda
