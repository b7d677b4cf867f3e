#include "statistics/difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::statistics {
namespace {

TEST(CompareSamples, FourAndFourGiveTheExtremeDifferences) {
  // 4 and 4: P(U = 0) = 1/70 = 0.014 fits into 0.025, P(U <= 1) = 2/70 does not; so the interval ends at the
  // least and greatest difference: log(5/4) and log(8/1).
  const std::vector<double> first = {1, 2, 3, 4}, second = {5, 6, 7, 8};
  const auto shift = compare_samples(first, second);
  ASSERT_TRUE(shift);
  EXPECT_NEAR(shift->interval.low, std::log(5.0 / 4.0), 1e-12);
  EXPECT_NEAR(shift->interval.high, std::log(8.0), 1e-12);
  // Ratios in order: 1.25 1.5 5/3 1.75 2 2 7/3 2.5 | 8/3 3 3.5 4 5 6 7 8.
  EXPECT_NEAR(shift->value, (std::log(2.5) + std::log(8.0 / 3.0)) / 2, 1e-12);
  EXPECT_TRUE(shift->excludes_zero());
}

TEST(CompareSamples, TenAndTenUseTheTablesRank) {
  // Mann and Whitney's table: the critical U of 10 and 10 at 5 % is 23, so the 24th difference from each end.
  std::vector<double> first, second;
  for (int i = 0; i < 10; ++i) {
    first.push_back(std::exp(0.0));
    second.push_back(std::exp(static_cast<double>(i)));
  }
  // All differences are 0 to 9, ten times each: the 24th is 2, the 24th from above 7.
  const auto shift = compare_samples(first, second);
  ASSERT_TRUE(shift);
  EXPECT_NEAR(shift->interval.low, 2.0, 1e-12);
  EXPECT_NEAR(shift->interval.high, 7.0, 1e-12);
}

TEST(CompareSamples, TooFewOrNotPositiveGiveNothing) {
  const std::vector<double> three = {1, 2, 3}, four = {1, 2, 3, 4}, zero = {0, 1, 2, 3};
  EXPECT_FALSE(compare_samples(three, four));
  EXPECT_TRUE(compare_samples(four, four));
  EXPECT_FALSE(compare_samples(zero, four));
  EXPECT_FALSE(compare_samples({}, four));
}

std::int64_t times_held(std::size_t n, std::size_t m, double true_shift) {
  Random random(7);
  std::int64_t held = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<double> first, second;
    for (std::size_t i = 0; i < n; ++i) first.push_back(std::exp(0.01 * random.normal()));
    for (std::size_t i = 0; i < m; ++i) second.push_back(std::exp(true_shift + 0.01 * random.normal()));
    const auto shift = compare_samples(first, second);
    held += shift->interval.low <= true_shift && true_shift <= shift->interval.high ? 1 : 0;
  }
  return held;
}

TEST(CompareSamples, HoldsTheTrueShiftIn95Percent) {
  // Both sides of where counting ends (20), and sizes that differ.
  for (const auto& [n, m] : {std::pair{10, 10}, {20, 20}, {21, 21}, {10, 60}}) {
    const Interval share = clopper_pearson(
        times_held(static_cast<std::size_t>(n), static_cast<std::size_t>(m), 0.02), 4000, 0.999);
    EXPECT_GT(share.high, 0.95) << n << " and " << m;
    EXPECT_LT(share.low, 0.96) << n << " and " << m;
  }
}

// Ten rounds of a time that falls to 1/f of its share with the clock.
struct Rounds {
  Rounds(double level, double clock, double clock_share) {
    for (int i = 0; i < 10; ++i) {
      const double wobble = 1.0 + 1e-5 * (i % 5 - 2);
      times.push_back(level * wobble * (1.0 - clock_share + clock_share / clock));
      clocks.push_back(clock);
    }
  }
  std::vector<double> times, clocks;
};

TEST(FindDifference, AClockThatMovedIsNone) {
  const Rounds before(100, 1.0, 0.7), after(100, 0.98, 0.7);
  const auto difference = find_difference({before.times, before.clocks}, {after.times, after.clocks});
  ASSERT_TRUE(difference);
  EXPECT_GT(difference->time.interval.low, 0.0);      // 1.4 % longer…
  EXPECT_LT(difference->cycles->interval.high, 0.0);  // …in 0.6 % fewer cycles
  EXPECT_FALSE(difference->differs);
  EXPECT_TRUE(find_difference({before.times, {}}, {after.times, {}})->differs);
}

TEST(FindDifference, OtherWorkAtAnotherClockIsOne) {
  const Rounds before(100, 1.0, 0.7), after(102, 0.98, 0.7);
  EXPECT_TRUE(find_difference({before.times, before.clocks}, {after.times, after.clocks})->differs);
}

TEST(FindDifference, AClockForEachTimeOrNone) {
  const std::vector<double> times = {1, 2, 3, 4}, clocks = {1, 2};
  EXPECT_THROW(find_difference({times, clocks}, {times, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace jitterscope::statistics
