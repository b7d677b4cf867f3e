#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.hpp"

namespace jitterscope::statistics {
namespace {

TEST(TrimmedMean, ASpoiltValueMovesNeitherMeanNorInterval) {
  const std::vector<double> good = {0.98, 0.99, 1.0, 1.01, 1.02, 1.0};
  std::vector<double> spoilt = good;
  spoilt.back() = 50.0;
  const auto a = trimmed_mean(good), b = trimmed_mean(spoilt);
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->value, b->value, 0.01);
  EXPECT_LT(b->interval.high - b->interval.low, 0.15);
  EXPECT_LT(b->p_value, 1e-3);
}

TEST(TrimmedMean, FewValues) {
  EXPECT_FALSE(trimmed_mean({}));
  const std::vector<double> one = {1.0}, two = {1.0, 3.0}, equal(8, 0.0);
  EXPECT_FALSE(trimmed_mean(one));
  EXPECT_DOUBLE_EQ(trimmed_mean(two)->value, 2.0);
  EXPECT_GT(trimmed_mean(two)->p_value, 0.05);
  EXPECT_EQ(trimmed_mean(equal)->p_value, 1.0);
}

double share_held(int count, const std::function<double(Random&)>& draw) {
  constexpr int kRuns = 4000;
  Random random(7);
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(draw(random));
    const auto mean = trimmed_mean(values);
    held += mean->interval.low <= 0.0 && 0.0 <= mean->interval.high ? 1 : 0;
  }
  return held / static_cast<double>(kRuns);
}

TEST(TrimmedMean, TheIntervalHoldsTheMiddleNineteenTimesInTwenty) {
  for (const int count : {6, 8, 10, 13, 20}) {
    EXPECT_NEAR(share_held(count, [](Random& random) { return random.normal(); }), 0.95, 0.012) << count;
    // One in ten far out, either way.
    const auto contaminated = [](Random& random) {
      return random.normal() * (random.uniform() < 0.1 ? 30.0 : 1.0);
    };
    EXPECT_GE(share_held(count, contaminated), 0.93) << count;
  }
}

}  // namespace
}  // namespace jitterscope::statistics
