#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

std::vector<double> counting(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.rbegin(), values.rend(), 1.0);
  return values;
}

TEST(MedianInterval, NothingBelowSixValues) {
  EXPECT_FALSE(median_interval({}));
  EXPECT_FALSE(median_interval(counting(5)));  // P(Bin(5, 1/2) < 1) = 1/32 > 0.025
  EXPECT_TRUE(median_interval(counting(6)));   // 1/64
  EXPECT_FALSE(median_interval(counting(1000), 1.0));
}

TEST(MedianInterval, RanksOfTheSignTestTable) {
  // k of the classical table of the two-sided sign test at 5 %: 10 -> 2, 20 -> 6, 25 -> 8, 40 -> 14, 100
  // -> 40.
  for (const auto& [count, rank] :
       {std::pair{6, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {25, 8}, {40, 14}, {100, 40}}) {
    const auto interval = median_interval(counting(static_cast<std::size_t>(count)));
    ASSERT_TRUE(interval);
    EXPECT_EQ(interval->low, rank) << count;
    EXPECT_EQ(interval->high, count + 1 - rank) << count;
  }
}

TEST(MedianInterval, NearTheNormalApproximationForMany) {
  const auto interval = median_interval(counting(1000000));
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 500000.0 - 1.959964 * 500.0, 2.0);
  EXPECT_EQ(interval->low + interval->high, 1000001.0);
}

TEST(MedianInterval, EqualValuesGiveAPoint) {
  const auto interval = median_interval(std::vector<double>(30, 2.5));
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 2.5);
  EXPECT_EQ(interval->high, 2.5);
}

}  // namespace
}  // namespace jitterscope::statistics
