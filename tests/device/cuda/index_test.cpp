// The index arithmetic that kernels share with the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda/kernels/channel_shape.hpp"
#include "device/cuda/kernels/embedding_shape.hpp"
#include "device/cuda/kernels/pool_shape.hpp"
#include "device/cuda/kernels/pool_tiles.hpp"
#include "device/cuda/kernels/row_slots.hpp"
#include "device/cuda/kernels/sums_shape.hpp"

namespace jitterscope::cuda {
namespace {

TEST(FastDivisor, DividesAsTheProcessorDoes) {
  constexpr std::int64_t kNear = std::int64_t{1} << 31, kFar = std::int64_t{1} << 32;
  for (const std::int64_t by :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{5}, std::int64_t{7}, std::int64_t{56},
        std::int64_t{64}, std::int64_t{641}, std::int64_t{3136}, std::int64_t{65537}, kNear - 1, kNear,
        kNear + 1, kFar + 3}) {
    const FastDivisor divisor(by);
    for (const std::int64_t base : {std::int64_t{0}, by, 2 * by, 1000 * by, kNear, kFar, 9 * kFar}) {
      for (std::int64_t n = base - 2; n <= base + 2; ++n) {
        if (n < 0) continue;
        EXPECT_EQ(divisor.quotient(static_cast<std::uint64_t>(n)), static_cast<std::uint64_t>(n / by))
            << n << " / " << by;
      }
    }
  }
}

TEST(FastDivisor, Splits) {
  std::uint64_t n = 1234567;
  EXPECT_EQ(FastDivisor(1000).split(n), 567u);
  EXPECT_EQ(n, 1234u);
  std::uint32_t largest = 2147483647;
  EXPECT_EQ(FastDivisor(2147483646).narrow_split(largest), 1u);
  EXPECT_EQ(largest, 1u);
}

TEST(RowSlots, CoverEachColumnOnce) {
  constexpr int kPerVector = 8;
  for (std::int64_t columns = 1; columns < 40; ++columns) {
    std::int64_t most = 0;
    for (std::uint64_t row = 0; row < 20; ++row) {
      const RowSlots slots(row, static_cast<std::uint64_t>(columns), kPerVector);
      most = std::max(most, std::int64_t{slots.slots});
      std::int64_t next = 0;
      for (std::uint32_t slot = 0; slot < slots.slots; ++slot) {
        for (int part = 0; part < kPerVector; ++part) {
          const std::int64_t column = slots.column(slot, kPerVector, part);
          if (column >= 0 && column < columns) {
            EXPECT_EQ(column, next++);
          }
          if (slots.whole(slot, kPerVector, static_cast<std::uint64_t>(columns))) {
            EXPECT_GE(column, 0);
          }
        }
      }
      EXPECT_EQ(next, columns);
    }
    EXPECT_LE(most, most_slots(columns, kPerVector));
  }
}

TEST(RowSlots, ShareOutWhatTheyCover) {
  constexpr std::uint32_t kPerVector = 4, kParts = 8;
  for (const std::uint64_t columns : {1u, 9u, 33u, 100u, 50257u}) {
    for (const std::uint64_t row : {0u, 1u, 2u, 3u}) {
      const RowSlots whole(row, columns, kPerVector);
      std::uint32_t slots = 0;
      for (std::uint32_t part = 0; part < kParts; ++part) {
        const RowSlots share = whole.share(part, kParts, kPerVector);
        if (share.slots == 0) continue;
        EXPECT_EQ(share.first_vector, whole.first_vector + slots);
        EXPECT_EQ(share.column(0, kPerVector, 0), whole.column(slots, kPerVector, 0));
        slots += share.slots;
      }
      EXPECT_EQ(slots, whole.slots) << columns << ' ' << row;
    }
  }
}

TEST(EmbeddingShape, CutsTablesThatTheCacheDoesNotHold) {
  const auto stripe = [](std::int64_t count, std::int64_t rows) {
    const auto shape = EmbeddingShape::make(count, rows, 768, 4, 16);
    EXPECT_GE(shape.stripes() << shape.stripe_shift, 192);
    EXPECT_GE(shape.row_blocks * shape.rows_at_once() * EmbeddingShape::kRowsInFlight, shape.count);
    return 16 << shape.stripe_shift;
  };
  EXPECT_EQ(stripe(524288, 50257), 256);
  EXPECT_EQ(stripe(524288, 100000), 128);
  EXPECT_EQ(stripe(524288, 1000), 4096);
  EXPECT_EQ(stripe(524288, 200000), 4096);  // not even the narrowest stripe stays
  EXPECT_EQ(stripe(8192, 50257), 4096);     // few rows come again
}

TEST(SortedEmbedding, HasThreadsForRowsAndForParts) {
  const auto more_rows = SortedEmbedding::make(1000, 500, 24, 8);
  EXPECT_EQ(more_rows.threads(), 500 * 3);
  const auto more_parts = SortedEmbedding::make(524288, 2, 768, 4);
  EXPECT_EQ(more_parts.parts, 4096u);
  EXPECT_EQ(more_parts.threads(), 4096 * 192);
}

TEST(BinnedEmbedding, CutsRowsIntoChunksOfOneSize) {
  const auto each = [](std::int64_t columns) {
    return BinnedEmbedding::make(524288, 50257, columns, 8).each;
  };
  EXPECT_EQ(each(768), 3u);
  EXPECT_EQ(each(768 * 2), 3u);  // 2 x 96 vectors
  EXPECT_EQ(each(1024), 2u);
  EXPECT_EQ(each(256), 1u);
}

TEST(BinnedEmbedding, FitsManyRowsOfFewIndices) {
  EXPECT_TRUE(BinnedEmbedding::fits(524288, 50257, 96));
  EXPECT_FALSE(BinnedEmbedding::fits(524288, 30522, 96));
  EXPECT_FALSE(BinnedEmbedding::fits(2048, 1024, 96));
  EXPECT_FALSE(BinnedEmbedding::fits(524288, 50257, 8));
}

TEST(PoolAxis, KnowsTheWindowsOverAnElement) {
  for (std::int32_t window = 1; window <= 5; ++window) {
    for (std::int32_t stride = 1; stride <= 6; ++stride) {
      for (std::int32_t pad = 0; pad <= window / 2; ++pad) {
        const std::int32_t size = 13, out = (size + 2 * pad - window) / stride + 1;
        const PoolAxis axis{size, out, window, stride, pad, FastDivisor(stride)};
        for (std::int32_t element = 0; element < size; ++element) {
          const Range windows = axis.windows(element);
          for (std::int32_t i = 0; i < out; ++i) {
            const Range covered = axis.covered(i);
            EXPECT_EQ(i >= windows.begin && i < windows.end,
                      element >= covered.begin && element < covered.end)
                << window << ' ' << stride << ' ' << pad << ' ' << element << ' ' << i;
          }
        }
      }
    }
  }
}

TEST(PoolAxis, PutsTapsInThePaddingOnNeighboursInTheWindow) {
  const PoolAxis axis{7, 4, 3, 2, 1, FastDivisor(2)};
  for (std::int32_t i = 0; i < axis.out; ++i) {
    for (std::int32_t tap = 0; tap < axis.window; ++tap) {
      EXPECT_GE(axis.nearest(i, tap), axis.covered(i).begin);
      EXPECT_LT(axis.nearest(i, tap), axis.covered(i).end);
      if (axis.inside(i, tap)) {
        EXPECT_EQ(axis.nearest(i, tap), i * axis.stride - axis.pad + tap);
      }
    }
  }
}

// Of dx in NCHW 8 rows and 2 columns, where 3x3 windows at stride 2 begin an element before the columns.
TEST(WindowsOver, KnowsWhichCoverAnElement) {
  using Down = WindowsOver<8, 3, 2, 0>;
  EXPECT_EQ(Down::kFirst, -1);
  EXPECT_EQ(Down::kCount, 5);
  EXPECT_TRUE(Down::covers(0, 0));
  EXPECT_TRUE(Down::covers(1, 0));
  EXPECT_FALSE(Down::covers(0, 1));
  EXPECT_TRUE(Down::covers(4, 7));
  using Across = WindowsOver<2, 3, 2, 1>;
  EXPECT_EQ(Across::kFirst, 0);
  EXPECT_EQ(Across::kCount, 2);
  EXPECT_FALSE(Across::covers(1, 0));
  EXPECT_TRUE(Across::covers(0, 1));
  EXPECT_TRUE(Across::covers(1, 1));
}

TEST(ChannelShape, FindsChannelsInBothLayouts) {
  const auto planes = ChannelShape::make(2, 3, 4, false, 4);
  EXPECT_EQ(planes.channel(0), 0u);
  EXPECT_EQ(planes.channel(11), 2u);
  EXPECT_EQ(planes.channel(12), 0u);
  EXPECT_EQ(planes.vectors, ChannelShape::kOneChannel);
  const auto pixels = ChannelShape::make(2, 3, 4, true, 4);
  EXPECT_EQ(pixels.channel(11), 2u);
  EXPECT_EQ(pixels.channel(12), 0u);
  EXPECT_EQ(pixels.vectors, ChannelShape::kMixed);
  EXPECT_EQ(ChannelShape::make(2, 8, 5, true, 4).vectors, ChannelShape::kSideBySide);
  EXPECT_EQ(ChannelShape::make(2, 8, 5, false, 4).vectors, ChannelShape::kMixed);
}

TEST(ColumnSumShape, GivesEachBlockWork) {
  const auto small = ColumnSumShape::make(5, 3, 1, 1000);
  EXPECT_EQ(small.across, 4);
  EXPECT_EQ(small.row_blocks, 1);
  const auto large = ColumnSumShape::make(1000000, 2048, 8, 1056);
  EXPECT_EQ(large.across, 32);
  EXPECT_EQ(large.column_blocks, 8);
  EXPECT_EQ(large.row_blocks, 132);
}

}  // namespace
}  // namespace jitterscope::cuda
