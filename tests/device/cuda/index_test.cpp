// The index arithmetic that kernels share with the host.
#include <gtest/gtest.h>

#include "device/cuda/kernels/shapes.hpp"

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

TEST(ChannelShape, FindsChannelsInBothLayouts) {
  const auto planes = ChannelShape::make(2, 3, 4, false);
  EXPECT_EQ(planes.count, 24u);
  EXPECT_EQ(planes.channel(0), 0u);
  EXPECT_EQ(planes.channel(11), 2u);
  EXPECT_EQ(planes.channel(12), 0u);
  const auto pixels = ChannelShape::make(2, 3, 4, true);
  EXPECT_EQ(pixels.channel(11), 2u);
  EXPECT_EQ(pixels.channel(12), 0u);
  EXPECT_EQ(pixels.channel(13), 1u);
}

TEST(SumsOverColumns, HaveWorkForEachThread) {
  EXPECT_EQ(sum_blocks_across(1), 1);
  EXPECT_EQ(sum_blocks_across(33), 2);
  EXPECT_EQ(sum_parts_of(5, 3), 1);
  EXPECT_EQ(sum_parts_of(65, 3), 2);
  EXPECT_EQ(sum_parts_of(1000000, 2048), 16);
  EXPECT_EQ(sum_parts_of(1000000, 1000000), 1);
}

}  // namespace
}  // namespace jitterscope::cuda
