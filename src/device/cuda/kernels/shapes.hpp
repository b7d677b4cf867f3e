#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Index arithmetic that kernels and the host share, so that it can be tested without a GPU.

#ifdef __CUDACC__
#define JITTERSCOPE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define JITTERSCOPE_HOST_DEVICE inline
#endif

namespace jitterscope::cuda {

/// Threads of a block unless a kernel's work needs another number.
inline constexpr unsigned kBlockThreads = 256;
/// Vectors that each thread of a fill writes.
inline constexpr int kFillVectors = 4;
/// Largest number of threads that share a row.
inline constexpr unsigned kMostRowThreads = 512;

/// Division by a number known at launch. A GPU has no instruction for it: the compiler's sequence has about
/// 20 for 32 bits and 70 for 64, this one has 3 (Granlund and Montgomery, 1994).
struct FastDivisor {
  std::uint64_t divisor = 1;
  std::uint32_t multiplier = 1, shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(std::int64_t by) : divisor(static_cast<std::uint64_t>(by)) {
    if (divisor <= 1 || divisor >= (std::uint64_t{1} << 31)) return;
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t rest = (std::uint64_t{1} << shift) - divisor;
    multiplier = static_cast<std::uint32_t>((rest << 32) / divisor + 1);
  }

  JITTERSCOPE_HOST_DEVICE std::uint64_t quotient(std::uint64_t n) const {
    if ((n | divisor) >> 31 != 0) return n / divisor;
    const auto narrow = static_cast<std::uint32_t>(n);
#ifdef __CUDA_ARCH__
    const std::uint32_t high = __umulhi(narrow, multiplier);
#else
    const auto high = static_cast<std::uint32_t>((n * multiplier) >> 32);
#endif
    return (high + narrow) >> shift;
  }
  /// Leaves the quotient in `n` and returns the remainder.
  JITTERSCOPE_HOST_DEVICE std::uint64_t split(std::uint64_t& n) const {
    const std::uint64_t whole = quotient(n);
    const std::uint64_t rest = n - whole * divisor;
    n = whole;
    return rest;
  }
};

// Maps the elements of a 4-D tensor to channels.

/// `inner` consecutive elements belong to one channel: h*w in NCHW, one in NHWC.
struct ChannelShape {
  std::uint64_t count = 0;  ///< number of elements of the tensor
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

// Distributes the sums over the columns of a matrix among blocks.

/// Width and height of a block of threads.
inline constexpr std::uint32_t kSumColumns = 32, kSumRows = 8;
inline constexpr unsigned kSumThreads = kSumColumns * kSumRows;

inline std::int64_t sum_blocks_across(std::int64_t columns) {
  return (columns + kSumColumns - 1) / kSumColumns;
}
/// Returns the number of parts of the rows: enough blocks for a GPU, but 8 or more rows for each thread.
inline std::int64_t sum_parts_of(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlocks = 1024, kLeastRows = std::int64_t{8} * kSumRows;
  const std::int64_t wanted = std::max<std::int64_t>(kBlocks / sum_blocks_across(columns), 1);
  return std::min(wanted, (rows + kLeastRows - 1) / kLeastRows);
}

// Distributes matrices that are transposed among blocks: each block reads a tile along rows and writes it
// along columns.

/// Returns log2 of a tile's elements, by the size of the wider type. With fewer, a block has too few bytes in
/// flight, and its rows are shorter than one memory transaction.
JITTERSCOPE_HOST_DEVICE constexpr std::uint32_t tile_bits(std::size_t bytes) { return bytes == 2 ? 12 : 10; }
/// A tile is at least four elements wide and high, which limits the padding words behind its rows.
inline constexpr std::uint32_t kLeastTileBits = 2;

struct TransposeShape {
  std::uint64_t rows = 1, columns = 1;  ///< sizes of each matrix of x
  /// A tile has 2^height_bits rows and 2^width_bits columns: equally many unless a matrix is narrower.
  std::uint32_t height_bits = kLeastTileBits, width_bits = kLeastTileBits;
  FastDivisor across, down;  ///< number of tiles in each direction of a matrix

  static TransposeShape make(std::int64_t rows, std::int64_t columns, std::size_t bytes) {
    TransposeShape shape;
    shape.rows = static_cast<std::uint64_t>(rows);
    shape.columns = static_cast<std::uint64_t>(columns);
    std::uint32_t shorter = kLeastTileBits;
    while (shorter < tile_bits(bytes) / 2 && (std::int64_t{1} << shorter) < std::min(rows, columns))
      ++shorter;
    const std::uint32_t longer = tile_bits(bytes) - shorter;
    shape.height_bits = rows < columns ? shorter : longer;
    shape.width_bits = rows < columns ? longer : shorter;
    shape.across = FastDivisor(tiles_of(columns, shape.width_bits));
    shape.down = FastDivisor(tiles_of(rows, shape.height_bits));
    return shape;
  }
  std::int64_t tiles() const { return static_cast<std::int64_t>(across.divisor * down.divisor); }

 private:
  static std::int64_t tiles_of(std::int64_t length, std::uint32_t bits) {
    return (length + (std::int64_t{1} << bits) - 1) >> bits;
  }
};

// Pooling as its kernels see it: channels last, or NCHW as n*c planes of one channel each.

/// The first, and one past the last.
struct Range {
  std::int32_t begin, end;
};

/// One of the two directions of a window, over `size` elements and `out` windows.
struct PoolAxis {
  std::int32_t size = 1, out = 1, window = 1, stride = 1, pad = 0;
  FastDivisor by_stride;

  /// Returns the elements that the window covers, without the padding.
  JITTERSCOPE_HOST_DEVICE Range covered(std::int32_t output) const {
    const std::int32_t begin = output * stride - pad;
    const std::int32_t end = begin + window;
    return {begin < 0 ? 0 : begin, end > size ? size : end};
  }
  /// Returns the windows that cover an element.
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

/// Indices within a plane and places of windows are 32-bit numbers, and so is the sum of two places.
inline constexpr std::int64_t kLargestPoolPlane = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kLargestPoolSide = (std::int64_t{1} << 30) - 1;

struct PoolShape {
  std::uint64_t items = 0;  ///< elements that are written
  PoolAxis h, w;
  FastDivisor by_channels, by_columns, by_rows;  ///< split an element's number into its place

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
