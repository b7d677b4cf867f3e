// How the work on rows of an embedding's table is divided.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// Blocks take some columns of all rows before the next: a stripe of the table, which stays in the cache
/// while its rows come up again and again. Whole rows of a table larger than the cache would be read from
/// memory nearly each time they come up.
struct EmbeddingShape {
  std::uint64_t count = 0;  ///< of indices
  std::uint32_t columns = 0;
  std::uint32_t groups = 0;        ///< of `columns`, that one access takes
  std::uint32_t stripe_shift = 0;  ///< a stripe is 2^shift groups
  std::uint64_t row_blocks = 1;

  static constexpr int kRowsInFlight = 4;
  /// Stripes are this large: a quarter of the 50 MB that an H200 caches, since each half keeps what it reads
  /// of the other half's memory as well, and what is written passes through it too.
  static constexpr std::int64_t kStripeBytes = std::int64_t{16} << 20;
  /// Narrower, they would leave the memory's bursts half used.
  static constexpr std::int64_t kNarrowestBytes = 128;

  static EmbeddingShape make(std::int64_t count, std::int64_t rows, std::int64_t columns, int group,
                             std::int64_t group_bytes) {
    EmbeddingShape shape;
    shape.count = static_cast<std::uint64_t>(count);
    shape.columns = static_cast<std::uint32_t>(columns);
    shape.groups = static_cast<std::uint32_t>(columns / group);
    const bool comes_again = count >= rows && rows * kNarrowestBytes <= kStripeBytes;
    while ((std::uint64_t{1} << shape.stripe_shift) < shape.groups &&
           (1u << shape.stripe_shift) < kBlockThreads) {
      const std::int64_t wider = group_bytes << (shape.stripe_shift + 1);
      if (comes_again && wider > kNarrowestBytes && rows * wider > kStripeBytes) break;
      ++shape.stripe_shift;
    }
    const std::uint64_t each = shape.rows_at_once() * kRowsInFlight;
    shape.row_blocks = (shape.count + each - 1) / each;
    return shape;
  }
  JITTERSCOPE_HOST_DEVICE std::uint32_t rows_at_once() const { return kBlockThreads >> stripe_shift; }
  std::int64_t stripes() const {
    return (std::int64_t{groups} + (std::int64_t{1} << stripe_shift) - 1) >> stripe_shift;
  }
  std::int64_t blocks() const { return stripes() * static_cast<std::int64_t>(row_blocks); }
};

}  // namespace jitterscope::cuda
