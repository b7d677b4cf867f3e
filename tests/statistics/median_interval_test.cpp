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

TEST(MedianInterval, BetweenTheRanksOfTheSignTestTableAndTheNext) {
  // k of the classical table of the two-sided sign test at 5 %: 10 -> 2, 20 -> 6, 25 -> 8, 40 -> 14, 100
  // -> 40.
  for (const auto& [count, rank] :
       {std::pair{6, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {25, 8}, {40, 14}, {100, 40}}) {
    const std::vector<double> values = counting(static_cast<std::size_t>(count));
    EXPECT_EQ(order_statistic_interval(values)->low, rank) << count;
    EXPECT_EQ(order_statistic_interval(values)->high, count + 1 - rank) << count;
    const auto interval = median_interval(values);
    ASSERT_TRUE(interval);
    EXPECT_GE(interval->low, rank) << count;
    if (count > 12) {
      EXPECT_EQ(interval->low, rank) << count;
    }
    EXPECT_LT(interval->low, rank + 1) << count;
    EXPECT_NEAR(interval->low + interval->high, count + 1, 1e-9) << count;
  }
}

TEST(MedianInterval, InterpolatesAsHettmanspergerAndSheather) {
  // n = 10: the pairs 2 and 3 hold 0.97852 and 0.89063, so I = 0.32444 and the weight 8 I / (2 + 6 I).
  EXPECT_NEAR(median_interval(counting(10))->low, 2.6576, 1e-3);
  // n = 6: 0.96875 and 0.78125, I = 0.1, the weight 5 I / (1 + 4 I).
  EXPECT_NEAR(median_interval(counting(6))->low, 1.3571, 1e-3);
  // Values need not be in order, nor evenly spaced.
  EXPECT_NEAR(median_interval(std::vector<double>{9, 1, 4, 16, 36, 25})->low, 1 + 0.3571 * 3, 1e-3);
  EXPECT_NEAR(median_interval(std::vector<double>{9, 1, 4, 16, 36, 25})->high, 36 - 0.3571 * 11, 1e-3);
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
