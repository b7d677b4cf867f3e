#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

std::vector<double> two_normals(std::size_t count, double share, double distance, double deviation) {
  Random random(11);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = random.uniform() < share ? 100.0 : 100.0 * (1.0 + distance);
    values.push_back(centre + 100.0 * deviation * random.normal());
  }
  return values;
}

TEST(Modes, DegenerateValues) {
  EXPECT_TRUE(find_modes({}).empty());
  for (const std::vector<double>& values : {std::vector<double>{3.0}, std::vector<double>(100, 3.0),
                                            std::vector<double>(100, 0.0), std::vector<double>{3.0, 4.0}}) {
    const std::vector<ModeEstimate> modes = find_modes(values);
    ASSERT_EQ(modes.size(), 1u);
    EXPECT_EQ(modes[0].weight, 1.0);
    EXPECT_NEAR(modes[0].location, (values.front() + values.back()) / 2.0, 1e-12);
  }
}

TEST(Modes, LocationsAndWeightsOfTwo) {
  const std::vector<ModeEstimate> modes = find_modes(two_normals(5000, 0.3, 0.023, 0.002));
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[0].location, 100.0, 0.03);
  EXPECT_NEAR(modes[1].location, 102.3, 0.03);
  EXPECT_NEAR(modes[0].weight, 0.3, 0.02);
  EXPECT_NEAR(modes[0].weight + modes[1].weight, 1.0, 1e-12);
}

TEST(Modes, SubsampledSeriesKeepsItsModes) {
  const std::vector<ModeEstimate> modes = find_modes(two_normals(300000, 0.3, 0.023, 0.002));
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[0].weight, 0.3, 0.015);
}

TEST(Modes, OneWhereTheRuleIsNotMet) {
  EXPECT_EQ(find_modes(two_normals(5000, 0.02, 0.023, 0.002)).size(), 1u);  // 2 % are no mode
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.003, 0.0002)).size(), 1u);  // 0.3 % apart
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.004, 0.002)).size(), 1u);   // no valley
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.023, 0.002), 0.05).size(), 1u);
}

std::vector<std::int64_t> numbers_up_to(std::int64_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST(Recurrence, IsFoundAcrossGapsInWhatWasWatched) {
  std::vector<std::int64_t> numbers;
  std::vector<double> values;
  for (std::int64_t number = 3; number < 400; ++number) {
    if (number % 9 < 3) continue;
    numbers.push_back(number);
    values.push_back(number % 5 == 4 ? 12.0 : 2.0);
  }
  const auto found = find_recurrence(numbers, values, 5.0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 5);
  EXPECT_EQ(found->slow, 1);
  EXPECT_EQ(found->share, 1.0);
}

TEST(Recurrence, MayBeSeveralOfAPeriod) {
  const std::vector<std::int64_t> numbers = numbers_up_to(700);
  std::vector<double> two_of_seven;
  for (const std::int64_t number : numbers) {
    two_of_seven.push_back(number % 7 == 1 || number % 7 == 4 ? 3.0 : 2.0);
  }
  ASSERT_TRUE(find_recurrence(numbers, two_of_seven, 2.5));
  EXPECT_EQ(find_recurrence(numbers, two_of_seven, 2.5)->slow, 2);
  EXPECT_EQ(find_recurrence(numbers, two_of_seven, 2.5)->period, 7);
}

// 1,000 series in which each value is slow by chance.
TEST(Recurrence, IsNotSeenInChance) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t count = 20 + static_cast<std::int64_t>(random.below(400));
    const double share = random.uniform(0.02, 0.6);
    std::vector<double> values;
    for (std::int64_t k = 0; k < count; ++k) values.push_back(random.uniform(0.0, 1.0) < share ? 3.0 : 2.0);
    EXPECT_FALSE(find_recurrence(numbers_up_to(count), values, 2.5)) << i;
  }
}

// Few values: those of 20 that recur are seen, and of 2,000 series of chance at most one in a hundred recurs.
TEST(Recurrence, OfFewValuesIsSeenAndHardlyEverInChance) {
  for (std::int64_t period = 2; period <= 5; ++period) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < 20; ++k) values.push_back(k % period == period - 1 ? 3.0 : 2.0);
    const auto found = find_recurrence(numbers_up_to(20), values, 2.5, 6.0);
    ASSERT_TRUE(found) << period;
    EXPECT_EQ(found->period, period);
    EXPECT_EQ(found->slow, 1);
  }
  Random random(8);
  int seen = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t count = 20 + static_cast<std::int64_t>(random.below(100));
    const double share = random.uniform(0.02, 0.6);
    std::vector<double> values;
    for (std::int64_t k = 0; k < count; ++k) values.push_back(random.uniform(0.0, 1.0) < share ? 3.0 : 2.0);
    seen += find_recurrence(numbers_up_to(count), values, 2.5, 6.0) ? 1 : 0;
  }
  EXPECT_LE(seen, 20);
}

}  // namespace
}  // namespace jitterscope::statistics
