#include "statistics/factor_effects.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/random.hpp"

namespace jitterscope::statistics {
namespace {

int sign(bool high) { return high ? 1 : -1; }

class Designs : public testing::TestWithParam<std::size_t> {};

TEST_P(Designs, ColumnsAreBalancedAndOrthogonal) {
  const TwoLevelDesign rows = folded_plackett_burman(GetParam());
  for (std::size_t a = 0; a < GetParam(); ++a) {
    int sum = 0;
    for (const auto& row : rows) sum += sign(row[a]);
    EXPECT_EQ(sum, 0) << a;
    for (std::size_t b = 0; b < a; ++b) {
      int product = 0;
      for (const auto& row : rows) product += sign(row[a]) * sign(row[b]);
      EXPECT_EQ(product, 0) << a << ' ' << b;
    }
  }
}

TEST_P(Designs, NoMainEffectIsMixedWithThatOfTwoFactorsTogether) {
  const TwoLevelDesign rows = folded_plackett_burman(GetParam());
  for (std::size_t a = 0; a < GetParam(); ++a) {
    for (std::size_t b = 0; b < GetParam(); ++b) {
      for (std::size_t c = 0; c < b; ++c) {
        int product = 0;
        for (const auto& row : rows) product += sign(row[a]) * sign(row[b]) * sign(row[c]);
        EXPECT_EQ(product, 0) << a << ' ' << b << ' ' << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Designs, testing::Values(1, 5, 7, 8, 11, 12, 15, 19, 20, 23));

TEST(TwoLevelDesign, IsForAtMost23Factors) {
  EXPECT_EQ(folded_plackett_burman(7).size(), 16u);
  EXPECT_EQ(folded_plackett_burman(23).size(), 48u);
  EXPECT_THROW(folded_plackett_burman(24), std::invalid_argument);
}

TEST(MainEffects, AreFoundBesideBlocksThatDiffer) {
  Random random(1);
  TwoLevelDesign rows;
  std::vector<std::size_t> blocks;
  std::vector<double> values;
  for (std::size_t block = 0; block < 2; ++block) {
    for (const auto& row : folded_plackett_burman(5)) {
      rows.push_back(row);
      blocks.push_back(block);
      values.push_back(3.0 + (block == 1 ? 0.5 : 0.0) + (row[0] ? 0.1 : 0.0) - (row[3] ? 0.02 : 0.0) +
                       0.001 * random.uniform());
    }
  }
  const auto effects = main_effects(rows, blocks, values);
  ASSERT_EQ(effects.size(), 5u);
  EXPECT_NEAR(effects[0].value, 0.1, 0.0005);
  EXPECT_NEAR(effects[3].value, -0.02, 0.0005);
  EXPECT_LT(effects[0].interval.high - effects[0].interval.low, 0.001);
  EXPECT_LT(effects[1].interval.low, 0.0);
  EXPECT_GT(effects[1].interval.high, 0.0);
}

TEST(MainEffects, TheIntervalHoldsTheEffectNineteenTimesInTwenty) {
  constexpr int kRuns = 2000;
  Random random(2);
  int held = 0;
  const TwoLevelDesign rows = folded_plackett_burman(7);
  const std::vector<std::size_t> blocks(rows.size(), 0);
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back((row[2] ? 0.3 : 0.0) + random.normal());
    const MainEffect effect = main_effects(rows, blocks, values)[2];
    held += effect.interval.low <= 0.3 && 0.3 <= effect.interval.high ? 1 : 0;
  }
  EXPECT_NEAR(held, 0.95 * kRuns, 0.02 * kRuns);
}

TEST(MainEffects, TooFewRowsTellNothing) {
  const TwoLevelDesign rows = {{true, false}, {false, true}};
  const std::vector<std::size_t> blocks = {0, 0};
  const std::vector<double> values = {1.0, 2.0};
  EXPECT_TRUE(std::isinf(main_effects(rows, blocks, values)[0].interval.high));
  EXPECT_TRUE(main_effects({}, {}, {}).empty());
}

}  // namespace
}  // namespace jitterscope::statistics
