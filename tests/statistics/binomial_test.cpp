#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace jitterscope::statistics {
namespace {

TEST(ClopperPearson, KnownIntervals) {
  // By bisection of sums of the tails, term by term: each end leaves 2.5 %.
  const Interval small = clopper_pearson(10, 12);
  EXPECT_NEAR(small.low, 0.5158622513140, 1e-9);
  EXPECT_NEAR(small.high, 0.9791374745399, 1e-9);
  const Interval large = clopper_pearson(1900, 2000);
  EXPECT_NEAR(large.low, 0.9395182779168, 1e-9);
  EXPECT_NEAR(large.high, 0.9591357322818, 1e-9);
}

TEST(ClopperPearson, NoneAndAllHaveClosedForms) {
  // All of n: the lower end is (alpha/2)^(1/n).
  const Interval all = clopper_pearson(20, 20);
  EXPECT_NEAR(all.low, std::pow(0.025, 1.0 / 20), 1e-12);
  EXPECT_EQ(all.high, 1.0);
  const Interval none = clopper_pearson(0, 20);
  EXPECT_EQ(none.low, 0.0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 1.0 / 20), 1e-12);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1.0);
}

TEST(ClopperPearson, ConfidenceWidensIt) {
  const Interval usual = clopper_pearson(83, 100), wide = clopper_pearson(83, 100, 0.99);
  EXPECT_LT(wide.low, usual.low);
  EXPECT_GT(wide.high, usual.high);
}

// The probability that the interval holds the truth, added up over all counts: no simulation is needed.
double coverage(std::int64_t trials, double truth) {
  double sum = 0.0;
  for (std::int64_t count = 0; count <= trials; ++count) {
    const Interval interval = clopper_pearson(count, trials);
    if (truth < interval.low || truth > interval.high) continue;
    const double below = count == 0 ? 0.0 : probability_of_at_most(count - 1, trials, truth);
    sum += probability_of_at_most(count, trials, truth) - below;
  }
  return sum;
}

TEST(ClopperPearson, HoldsTheTruthAtLeastAsOftenAsItSays) {
  for (const std::int64_t trials : {1, 10, 50, 200}) {
    for (int percent = 1; percent < 100; ++percent) {
      EXPECT_GE(coverage(trials, percent / 100.0), 0.95) << percent << " % of " << trials;
    }
  }
  EXPECT_LT(coverage(200, 0.5), 0.97);
}

TEST(BinomialTest, TheTailOfAFairCoin) {
  // Of ten throws: 1 + 10 + 45 of 1024 have at most two heads.
  EXPECT_NEAR(probability_of_at_most(2, 10, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_EQ(probability_of_at_most(10, 10, 0.5), 1.0);
}

TEST(BinomialTest, ImpossibleCountsAreRefused) {
  EXPECT_THROW(clopper_pearson(3, 2), std::invalid_argument);
  EXPECT_THROW(clopper_pearson(-1, 2), std::invalid_argument);
  EXPECT_THROW(probability_of_at_most(3, 2, 0.5), std::invalid_argument);
}

}  // namespace
}  // namespace jitterscope::statistics
