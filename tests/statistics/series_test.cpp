#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Stretch {
  std::size_t count;
  double level;
};

std::vector<double> series_of(const std::vector<Stretch>& stretches, double deviation,
                              std::uint64_t seed = 5) {
  Random random(seed);
  std::vector<double> values;
  for (const Stretch& stretch : stretches) {
    for (std::size_t i = 0; i < stretch.count; ++i) {
      values.push_back(stretch.level * (1.0 + deviation * random.normal()));
    }
  }
  return values;
}

TEST(Autocorrelation, GoldenValuesByHand) {
  // Deviations -1.5, -0.5, 0.5, 1.5: lag 1 gives (0.75 - 0.25 + 0.75)/5.
  EXPECT_NEAR(autocorrelation(std::vector<double>{1, 2, 3, 4}), 0.25, 1e-12);
  EXPECT_NEAR(autocorrelation(std::vector<double>{1, 2, 3, 4}, 2), (-0.75 - 0.75) / 5.0, 1e-12);
  EXPECT_NEAR(autocorrelation(std::vector<double>{1, 2, 3, 4}, 0), 1.0, 1e-12);
  EXPECT_LT(autocorrelation(std::vector<double>{1, -1, 1, -1, 1, -1}), -0.8);
}

TEST(Autocorrelation, ZeroWhereUndefined) {
  EXPECT_EQ(autocorrelation({}), 0.0);
  EXPECT_EQ(autocorrelation(std::vector<double>{1, 2}), 0.0);
  EXPECT_EQ(autocorrelation(std::vector<double>{1, 2, 3}, 2), 0.0);
  EXPECT_EQ(autocorrelation(std::vector<double>(1001, 0.1)), 0.0);
}

TEST(ChangePoints, NoneInShortOrFlatSeries) {
  EXPECT_THAT(change_points({}), IsEmpty());
  EXPECT_THAT(change_points(std::vector<double>{1, 9}), IsEmpty());
  EXPECT_THAT(change_points(std::vector<double>(500, 0.1)), IsEmpty());
  EXPECT_THAT(change_points(series_of({{300, 1.0}}, 0.01)), IsEmpty());
}

TEST(ChangePoints, StepsAreFoundWhereTheyAre) {
  EXPECT_THAT(change_points(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}), ElementsAre(4));
  EXPECT_THAT(change_points(series_of({{60, 1.0}, {40, 1.1}, {30, 0.9}}, 0.005)), ElementsAre(60, 100));
}

TEST(ChangePoints, LongSeriesArePlacedWithinTheirBlock) {
  EXPECT_THAT(change_points(series_of({{40003, 1.0}, {60000, 1.1}}, 0.005)), ElementsAre(40003));
}

TEST(Series, WhatTheSegmentsSay) {
  EXPECT_EQ(classify_series({}), Trend::flat);
  EXPECT_EQ(classify_series(std::vector<double>{1.0}), Trend::flat);
  EXPECT_EQ(classify_series(series_of({{100, 1.0}}, 0.002)), Trend::flat);
  EXPECT_EQ(classify_series(series_of({{20, 1.05}, {80, 1.0}}, 0.002)), Trend::warming_up);
  EXPECT_EQ(classify_series(series_of({{10, 1.1}, {10, 1.05}, {80, 1.0}}, 0.002)), Trend::warming_up);
  EXPECT_EQ(classify_series(series_of({{20, 0.95}, {80, 1.0}}, 0.002)), Trend::slowing_down);
  EXPECT_EQ(classify_series(series_of({{90, 1.05}, {10, 1.0}}, 0.002)), Trend::never_steady);
  EXPECT_EQ(classify_series(series_of({{25, 1.0}, {25, 1.05}, {25, 1.0}, {25, 1.05}}, 0.002)),
            Trend::never_steady);
  EXPECT_EQ(classify_series(series_of({{25, 1.05}, {25, 0.95}, {50, 1.0}}, 0.002)), Trend::never_steady);
}

TEST(Series, MarginAndOutliersAreNoChange) {
  EXPECT_EQ(classify_series(series_of({{50, 1.003}, {50, 1.0}}, 0.0002)), Trend::flat);
  EXPECT_EQ(classify_series(series_of({{50, 1.003}, {50, 1.0}}, 0.0002), 0.001), Trend::warming_up);
  std::vector<double> values = series_of({{100, 1.0}}, 0.002);
  values[40] = 3.0;
  EXPECT_EQ(classify_series(values), Trend::flat);
}

TEST(Series, LongRecords) {
  EXPECT_EQ(classify_series(series_of({{30000, 1.05}, {170000, 1.0}}, 0.01)), Trend::warming_up);
}

TEST(Levels, EquivalenceNeedsEnoughValues) {
  const std::vector<double> few(3, 1.0), enough(4, 1.0), zeros(40, 0.0);
  EXPECT_FALSE(compare_levels({}, {}, 0.005).equivalent);
  EXPECT_FALSE(compare_levels(few, enough, 0.005).equivalent);
  EXPECT_FALSE(compare_levels(zeros, zeros, 0.005).equivalent);
  EXPECT_TRUE(compare_levels(enough, enough, 0.005).equivalent);
}

TEST(Levels, ShiftIsThatOfTheLogarithm) {
  const Equivalence result =
      compare_levels(series_of({{200, 2.0}}, 0.001, 1), series_of({{205, 2.2}}, 0.001, 2), 0.005);
  EXPECT_NEAR(result.shift, std::log(1.1), 0.001);
  EXPECT_LT(result.interval.low, result.shift);
  EXPECT_GT(result.interval.high, result.shift);
  EXPECT_FALSE(result.equivalent);
}

}  // namespace
}  // namespace jitterscope::statistics
