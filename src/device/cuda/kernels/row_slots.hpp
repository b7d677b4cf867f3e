// A row of a matrix as the 16-byte vectors that overlap it.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// Where the length of rows is no multiple of a vector, rows begin and end within one: `slots` counts those
/// two as well, and of them a thread moves only the row's own elements, one by one.
struct RowSlots {
  std::uint64_t first_vector;  ///< of the whole matrix
  std::int32_t lead;           ///< elements of the first vector that belong to the row before
  std::uint32_t slots;

  JITTERSCOPE_HOST_DEVICE RowSlots(std::uint64_t row, std::uint64_t columns, std::uint32_t per_vector) {
    const std::uint64_t begin = row * columns;
    first_vector = begin / per_vector;  // a power of two, known when compiled
    lead = static_cast<std::int32_t>(begin % per_vector);
    slots = static_cast<std::uint32_t>((begin % per_vector + columns + per_vector - 1) / per_vector);
  }
  /// The `part`-th of `parts` equal shares of the row's slots. Before their first are elements of the row
  /// too.
  JITTERSCOPE_HOST_DEVICE RowSlots share(std::uint32_t part, std::uint32_t parts,
                                         std::uint32_t per_vector) const {
    const std::uint32_t each = (slots + parts - 1) / parts, begin = part * each;
    RowSlots result = *this;
    result.first_vector += begin;
    result.lead -= static_cast<std::int32_t>(begin * per_vector);
    result.slots = begin >= slots ? 0 : (slots - begin < each ? slots - begin : each);
    return result;
  }
  /// Column of a slot's element; below 0 or past the row where that element is another row's.
  JITTERSCOPE_HOST_DEVICE std::int64_t column(std::uint32_t slot, std::uint32_t per_vector, int part) const {
    return static_cast<std::int64_t>(slot) * per_vector + part - lead;
  }
  JITTERSCOPE_HOST_DEVICE bool whole(std::uint32_t slot, std::uint32_t per_vector,
                                     std::uint64_t columns) const {
    const std::int64_t begin = column(slot, per_vector, 0);
    return begin >= 0 && begin + per_vector <= static_cast<std::int64_t>(columns);
  }
};

/// The most slots that a row of the matrix has.
constexpr std::int64_t most_slots(std::int64_t columns, int per_vector) {
  return columns % per_vector == 0 ? columns / per_vector
                                   : (columns + 2 * std::int64_t{per_vector} - 2) / per_vector;
}

/// The kernels whose groups hold a row each, shortest first: threads of a group, vectors that each of them
/// holds, threads of a block. One for each of them is compiled, and the plan takes the first that a row fits.
#define JITTERSCOPE_HELD_ROWS(M, T, suffix) \
  M(T, suffix, 4, 4, 256)                   \
  M(T, suffix, 8, 4, 256)                   \
  M(T, suffix, 32, 2, 256)                  \
  M(T, suffix, 32, 4, 256)                  \
  M(T, suffix, 32, 8, 256)                  \
  M(T, suffix, 128, 4, 128)                 \
  M(T, suffix, 256, 4, 256)                 \
  M(T, suffix, 512, 4, 512)

/// Blocks that share a row which none of them could hold: as many as any GPU with clusters has.
inline constexpr int kClusterBlocks = 8;

/// Threads that share a row of so many slots: a warp has up to 8 of them for each thread, 8 threads up to 4.
constexpr int group_of(std::int64_t slots) { return slots <= 32 ? 8 : slots <= 256 ? 32 : 256; }

}  // namespace jitterscope::cuda
