#include "statistics/shapley.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "base/random.hpp"

namespace jitterscope::statistics {
namespace {

TEST(Shapley, IndependentExplanationsHaveTheirShareOfTheVariance) {
  Random random(3);
  Explanation a{{{}}}, b{{{}}};
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    a.columns[0].push_back(random.normal());
    b.columns[0].push_back(random.normal());
    values.push_back(2.0 * a.columns[0].back() + b.columns[0].back() + random.normal());
  }
  const std::vector<Explanation> both = {a, b};
  const std::vector<double> shares = shapley_shares(both, values);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0], 4.0 / 6.0, 0.01);
  EXPECT_NEAR(shares[1], 1.0 / 6.0, 0.01);
  EXPECT_NEAR(shares[2], 1.0 / 6.0, 0.01);
}

TEST(Shapley, WhatTwoExplainAlikeTheyShareEvenly) {
  const Explanation same{{{1.0, 2.0, 3.0, 4.0}}};
  const std::vector<Explanation> twice = {same, same};
  const std::vector<double> values = {10.0, 20.0, 30.0, 40.0};
  const std::vector<double> shares = shapley_shares(twice, values);
  EXPECT_NEAR(shares[0], 0.5, 1e-9);
  EXPECT_NEAR(shares[1], 0.5, 1e-9);
  EXPECT_NEAR(shares[2], 0.0, 1e-9);
}

TEST(Shapley, SharesAndRestAddUpToOne) {
  Random random(4);
  std::vector<Explanation> explanations(5);
  std::vector<double> values(60);
  for (double& value : values) value = random.normal();
  for (Explanation& explanation : explanations) {
    explanation.columns.assign(3, values);
    for (auto& column : explanation.columns) {
      for (double& entry : column) entry += 1e9 + random.normal();
    }
  }
  const std::vector<double> shares = shapley_shares(explanations, values);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-9);
}

TEST(Shapley, WithoutVariationThereIsOnlyARest) {
  const std::vector<Explanation> one = {{{{1.0, 2.0, 3.0}}}};
  const std::vector<double> level = {5.0, 5.0, 5.0};
  EXPECT_EQ(shapley_shares(one, level), (std::vector<double>{0.0, 1.0}));
  EXPECT_EQ(shapley_shares({}, level), (std::vector<double>{1.0}));
}

TEST(Shapley, UnequalLengthsAndTooManyAreRefused) {
  const std::vector<Explanation> one = {{{{1.0, 2.0}}}};
  const std::vector<double> three = {1.0, 2.0, 3.0};
  EXPECT_THROW(shapley_shares(one, three), std::invalid_argument);
  const std::vector<Explanation> nine(9);
  EXPECT_THROW(shapley_shares(nine, three), std::invalid_argument);
}

}  // namespace
}  // namespace jitterscope::statistics
