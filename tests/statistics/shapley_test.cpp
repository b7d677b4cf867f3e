#include "statistics/factor_effects.hpp"

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

// As of a clock that stays: its mean is not quite each of its values.
TEST(Shapley, AConstantExplainsNothing) {
  Random random(3);
  std::vector<Explanation> two(2);
  std::vector<double> values, level(13, 0.1);
  for (int i = 0; i < 13; ++i) values.push_back(random.normal());
  two[0].columns.push_back(level);
  two[1].columns.push_back(values);
  const std::vector<double> shares = shapley_shares(two, values);
  EXPECT_EQ(shares[0], 0.0);
  EXPECT_NEAR(shares[1], 1.0, 1e-9);
}

// Of loops that are drawn again, some twice: their columns and those of the places depend on each other.
TEST(Shapley, NoShareIsBelowZero) {
  constexpr std::size_t kLoops = 35, kPlaces = 10;
  Random random(5);
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<Explanation> three(3);
    three[0].columns.resize(kPlaces);
    three[2].columns.resize(kLoops);
    std::vector<double> values, clock;
    for (std::size_t loop = 0; loop < kLoops; ++loop) {
      Random again(random.below(kLoops / 2));
      for (std::size_t place = 0; place < kPlaces; ++place) {
        values.push_back(again.normal());
        clock.push_back(21.4 + 4e-6 * again.normal());
        for (std::size_t k = 0; k < kPlaces; ++k) three[0].columns[k].push_back(k == place ? 1.0 : 0.0);
        for (std::size_t k = 0; k < kLoops; ++k) three[2].columns[k].push_back(k == loop ? 1.0 : 0.0);
      }
    }
    three[1].columns.push_back(clock);
    const std::vector<double> shares = shapley_shares(three, values);
    for (const double share : shares) EXPECT_GE(share, 0.0);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-9);
  }
}

// The share of the variance of the values that columns explain: each in its turn is made orthogonal to those
// before it, and taken from the values.
double explained_by(std::vector<std::vector<double>> columns, std::vector<double> values) {
  const auto centre = [](std::vector<double>& column) {
    const double mean = std::accumulate(column.begin(), column.end(), 0.0) / std::ssize(column);
    for (double& entry : column) entry -= mean;
  };
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const auto take_from = [&](const std::vector<double>& direction, std::vector<double>& column) {
    const double share = product(direction, column) / product(direction, direction);
    for (std::size_t i = 0; i < column.size(); ++i) column[i] -= share * direction[i];
  };
  centre(values);
  const double total = product(values, values);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    centre(columns[i]);
    const double length = product(columns[i], columns[i]);
    for (int twice = 0; twice < 2; ++twice) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!columns[j].empty()) take_from(columns[j], columns[i]);
      }
    }
    if (product(columns[i], columns[i]) < 1e-10 * length) columns[i].clear();
    if (!columns[i].empty()) take_from(columns[i], values);
  }
  return 1.0 - product(values, values) / total;
}

// A level for each of seven loops, one for each half of them (which those of the loops hold), and a number
// that follows the loops nearly.
TEST(Shapley, IsTheMeanOverOrdersOfWhatLeastSquaresAdds) {
  constexpr std::size_t kLoops = 7, kValues = 91;
  Random random(6);
  Explanation loops, halves, clock{{{}}};
  loops.columns.resize(kLoops);
  halves.columns.resize(2);
  std::vector<double> values;
  for (std::size_t i = 0; i < kValues; ++i) {
    const std::size_t loop = i % kLoops;
    for (std::size_t k = 0; k < kLoops; ++k) loops.columns[k].push_back(k == loop ? 1.0 : 0.0);
    for (std::size_t k = 0; k < 2; ++k) halves.columns[k].push_back(k == loop % 2 ? 1.0 : 0.0);
    clock.columns[0].push_back(1980e6 + 15e6 * static_cast<double>(loop) + 1e5 * random.normal());
    values.push_back(100.0 + 3.0 * static_cast<double>(loop) + random.normal() +
                     1e-5 * (clock.columns[0].back() - 1980e6));
  }
  const std::vector<Explanation> three = {loops, halves, clock};
  const auto of = [&](std::initializer_list<std::size_t> chosen) {
    std::vector<std::vector<double>> columns;
    for (const std::size_t i : chosen) {
      columns.insert(columns.end(), three[i].columns.begin(), three[i].columns.end());
    }
    return explained_by(columns, values);
  };
  const std::vector<double> shares = shapley_shares(three, values);
  for (std::size_t one = 0; one < 3; ++one) {
    const std::size_t second = (one + 1) % 3, third = (one + 2) % 3;
    const double expected = of({one}) / 3.0 + (of({second, one}) - of({second})) / 6.0 +
                            (of({third, one}) - of({third})) / 6.0 +
                            (of({second, third, one}) - of({second, third})) / 3.0;
    EXPECT_NEAR(shares[one], expected, 1e-7) << one;
  }
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
