// A few columns of an NCHW plane at once: what a thread pools where window, stride and padding are known when
// its kernel is compiled, and rows are whole numbers of so many elements.
#pragma once

#include "device/cuda/kernels/pool_tiles.hpp"

namespace jitterscope::cuda {

/// Columns of x of a thread, forward.
inline constexpr int kRowColumns = 8;

/// Some elements of x and the windows that begin among them, less the padding.
template <int Window, int Stride, int Pad, int Columns = kRowColumns>
struct RowPools {
  static constexpr int kWindows = Columns / Stride;
  /// Elements before and after those that the windows cover as well.
  static constexpr int kLeft = Pad, kRight = Window > Stride + Pad ? Window - Stride - Pad : 0;
  /// Windows before and after those that cover some of them as well.
  static constexpr int kWindowsLeft = (Window - 1 - Pad) / Stride;
  static constexpr int kWindowsRight = Pad > 0 ? (Pad - 1) / Stride + 1 : 0;
};

/// Rows of outputs of a thread. Two share rows of x, but what a block's other threads read is in the SM's
/// cache anyway, and threads that hold less are more: of a 3x3 maximum at stride 2 one is 97 % of the copy's
/// bandwidth in f16 and two are 90 % (H200). Of an average at stride 1 in f16 two are 83 % and one is 62 %.
JITTERSCOPE_HOST_DEVICE constexpr int forward_row_outputs(bool is_max, int element_bytes) {
  return is_max || element_bytes == 4 ? 1 : 2;
}

/// Columns of dx of a thread: 16 bytes; of a maximum at stride 1, where each has a window of its own, four,
/// since a thread's indices of eight lie further apart than the SM reads at once (H200, f16: 86 % for 57 %).
JITTERSCOPE_HOST_DEVICE constexpr int backward_row_columns(bool is_max, int element_bytes, int stride) {
  return is_max && stride == 1 ? 4 : 16 / element_bytes;
}
/// Whether threads give windows to their neighbours. Where two bytes are all there is to a window and a row
/// of eight has ten of them, a read of the SM's cache takes less (H200, averages at stride 1: 59 us for 67).
JITTERSCOPE_HOST_DEVICE constexpr bool backward_row_gives(bool is_max, int element_bytes, int stride) {
  return is_max || element_bytes > 2 || stride > 1;
}
/// Rows of dx of a thread, in strides.
JITTERSCOPE_HOST_DEVICE constexpr int backward_row_strides(int stride) { return stride == 1 ? 2 : 1; }

}  // namespace jitterscope::cuda
