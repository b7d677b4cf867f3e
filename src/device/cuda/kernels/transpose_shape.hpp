// How blocks share matrices that are transposed: each has a tile, which it reads along rows and writes along
// columns.
#pragma once

#include <algorithm>
#include <cstddef>

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// Elements of a tile, by the size of the wider of both types: with fewer a block has too few bytes on their
/// way, and its rows are shorter than what memory brings at once.
JITTERSCOPE_HOST_DEVICE constexpr std::uint32_t tile_bits(std::size_t bytes) { return bytes == 2 ? 12 : 10; }
/// At least four elements wide and high, so that the words that are left free behind each row have a limit.
inline constexpr std::uint32_t kLeastTileBits = 2;

struct TransposeShape {
  std::uint64_t rows = 1, columns = 1;  ///< of each matrix of x
  /// A tile has 2^height_bits rows and 2^width_bits columns: as many, but where a matrix is narrower than
  /// that.
  std::uint32_t height_bits = kLeastTileBits, width_bits = kLeastTileBits;
  FastDivisor across, down;  ///< tiles of a matrix

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

}  // namespace jitterscope::cuda
