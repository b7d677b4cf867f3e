// How the work on rows of an embedding's table is divided.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// For indices as they stand. Blocks take some columns of all rows before the next: a stripe of the table,
/// which stays in the cache while its rows come up again and again. Whole rows of a table larger than the
/// cache would be read from memory nearly each time they come up.
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

  static bool has_stripes(std::int64_t rows) { return rows * kNarrowestBytes <= kStripeBytes; }
  static EmbeddingShape make(std::int64_t count, std::int64_t rows, std::int64_t columns, int group,
                             std::int64_t group_bytes) {
    EmbeddingShape shape;
    shape.count = static_cast<std::uint64_t>(count);
    shape.columns = static_cast<std::uint32_t>(columns);
    shape.groups = static_cast<std::uint32_t>(columns / group);
    const bool comes_again = count >= rows && has_stripes(rows);
    while ((std::uint64_t{1} << shape.stripe_shift) < shape.groups &&
           (1u << shape.stripe_shift) < kBlockThreads) {
      const std::int64_t wider = group_bytes << (shape.stripe_shift + 1);
      if (comes_again && wider > kNarrowestBytes && rows * wider > kStripeBytes) break;
      ++shape.stripe_shift;
    }
    const std::uint64_t each = std::uint64_t{shape.rows_at_once()} * kRowsInFlight;
    shape.row_blocks = (shape.count + each - 1) / each;
    return shape;
  }
  JITTERSCOPE_HOST_DEVICE std::uint32_t rows_at_once() const { return kBlockThreads >> stripe_shift; }
  std::int64_t stripes() const {
    return (std::int64_t{groups} + (std::int64_t{1} << stripe_shift) - 1) >> stripe_shift;
  }
  std::int64_t blocks() const { return stripes() * static_cast<std::int64_t>(row_blocks); }
};

/// For indices sorted by the row that they name. A thread takes the same few columns, a group, of all that
/// name one row, or of a part of them.
struct SortedEmbedding {
  std::uint64_t rows = 0, columns = 0;
  std::uint64_t parts = 0;  ///< of rows, beside the first of each: at most so many
  FastDivisor groups;

  /// Indices whose rows a thread goes through, one after the other: where more of them name one row, other
  /// threads take the next ones.
  static constexpr std::uint32_t kPart = 128;

  static SortedEmbedding make(std::int64_t count, std::int64_t rows, std::int64_t columns, int group) {
    SortedEmbedding shape;
    shape.rows = static_cast<std::uint64_t>(rows);
    shape.columns = static_cast<std::uint64_t>(columns);
    shape.parts = static_cast<std::uint64_t>(count) / kPart;
    shape.groups = FastDivisor(columns / group);
    return shape;
  }
  /// A thread takes a row and a part, where there are so many.
  std::int64_t threads() const {
    return static_cast<std::int64_t>((rows > parts ? rows : parts) * groups.divisor);
  }
};

/// Indices that a bin holds: one for each lane but the first, which takes their count. Random ones, 16 for
/// each row, fill one bin in 3600.
inline constexpr std::uint32_t kLanes = 32, kBin = kLanes - 1;

/// For indices in bins, one for each row that they can name. A warp takes a row, in chunks of columns: each
/// lane some groups of them, 32 groups apart.
struct BinnedEmbedding {
  std::uint64_t rows = 0, columns = 0;
  std::uint64_t parts = 0;   ///< of indices whose bin is full, one for each lane: at most
  std::uint32_t groups = 0;  ///< of `columns`, that one access takes
  std::uint32_t each = 0;    ///< groups of a lane in a chunk

  static constexpr std::int64_t kMostPerRow = 16;
  /// Fewer rows are too few warps, and narrower ones leave most lanes idle.
  static constexpr std::int64_t kLeastRows = 4096, kLeastGroups = 16;
  static constexpr int kIndicesInFlight = 4, kRowsInFlight = 4;
  /// Groups of a lane, which are in registers.
  static constexpr int kMostEach = 3;

  static bool fits(std::int64_t count, std::int64_t rows, std::int64_t groups) {
    return rows >= kLeastRows && count <= kMostPerRow * rows && groups >= kLeastGroups;
  }
  /// Chunks of one size, so that the last has no idle lanes.
  static BinnedEmbedding make(std::int64_t count, std::int64_t rows, std::int64_t columns, int group) {
    const auto divide = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    BinnedEmbedding shape;
    shape.rows = static_cast<std::uint64_t>(rows);
    shape.columns = static_cast<std::uint64_t>(columns);
    shape.parts = static_cast<std::uint64_t>(divide(count, kLanes));
    shape.groups = static_cast<std::uint32_t>(columns / group);
    const std::int64_t wide = divide(shape.groups, kLanes);
    shape.each = static_cast<std::uint32_t>(divide(wide, divide(wide, kMostEach)));
    return shape;
  }
  /// Rows that more indices name than a bin holds: at most so many.
  static std::int64_t full_rows(std::int64_t count) { return count / (kBin + 1); }
  std::int64_t threads() const { return static_cast<std::int64_t>(rows * kLanes); }
};

}  // namespace jitterscope::cuda
