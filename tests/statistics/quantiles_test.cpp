#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

using testing::ElementsAre;

TEST(Quantiles, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2.0);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{7}), 7.0);
}

TEST(Quantiles, NothingHasNoQuantiles) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(quantiles({}, std::vector<double>{0.5}).at(0)));
  EXPECT_TRUE(quantiles(std::vector<double>{1}, {}).empty());
}

TEST(Quantiles, TypeSevenByHand) {
  // (n - 1)·p = 3·0.25 = 0.75: 10 + 0.75·10; 3·0.95 = 2.85: 30 + 0.85·10.
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_THAT(quantiles(values, std::vector<double>{0.95, 0.0, 0.25, 1.0}),
              ElementsAre(testing::DoubleEq(38.5), 10.0, testing::DoubleEq(17.5), 40.0));
}

TEST(Quantiles, EqualToTheDefinitionOnSortedValues) {
  Random random(7);
  const std::vector<double> probabilities = {0.05, 0.5, 0.25, 0.999, 0.0, 0.75, 1.0, 0.5, 0.95};
  for (std::size_t count = 1; count < 200; ++count) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(std::floor(random.uniform(0.0, 40.0)));  // with ties
    }
    const std::vector<double> result = quantiles(values, probabilities);
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const double place = probabilities[i] * static_cast<double>(count - 1);
      const auto below = static_cast<std::size_t>(place);
      const std::size_t above = std::min(below + 1, count - 1);
      const double fraction = place - static_cast<double>(below);
      EXPECT_NEAR(result[i], (1.0 - fraction) * values[below] + fraction * values[above], 1e-12) << count;
    }
  }
}

TEST(MedianOfReadings, OfACoarseTimerIsTheMeanOfWhatLiesNear) {
  // 93.7 us read in steps of 0.5 us, and one launch that was disturbed.
  const std::vector<double> readings = {93.5, 94, 94, 93.5, 94, 94, 93.5, 94, 93.5, 94, 120};
  EXPECT_EQ(median(readings), 94);
  EXPECT_NEAR(median_of_readings(readings, 0.5), 93.8, 1e-9);
}

TEST(MedianOfReadings, OfAFineTimerIsTheMedian) {
  const std::vector<double> readings = {1, 2, 3, 10, 50, 60, 100};
  EXPECT_EQ(median_of_readings(readings, 0.5), 10);
  EXPECT_EQ(median_of_readings(readings, 0.0), 10);
}

}  // namespace
}  // namespace jitterscope::statistics
