// Error rates of the verdicts about series, and the search for change points against trying every partition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "statistics/simulation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

constexpr int kSeriesRuns = 2000;

Draw around(double level, double deviation) {
  return [=](Random& random) { return level * (1.0 + deviation * random.normal()); };
}

TEST(Levels, WronglyEquivalentInFivePercentAtMost) {
  constexpr double kMargin = 0.005;
  for (const double deviation : {0.001, 0.003, 0.01}) {
    for (const std::size_t count : {16u, 40u, 200u}) {
      const double wrong = share_of(kSeriesRuns, [&](Random& random) {
        const std::vector<double> first = draws(count, random, around(1.0, deviation));
        return compare_levels(first, draws(count, random, around(1.0 + kMargin, deviation)), kMargin)
            .equivalent;
      });
      EXPECT_LE(wrong, 0.05 + 0.01) << deviation << ", n = " << count;
    }
  }
}

TEST(Levels, EquivalentWhereEqualAndQuiet) {
  const double right = share_of(kSeriesRuns, [&](Random& random) {
    const std::vector<double> first = draws(100, random, around(1.0, 0.004));
    return compare_levels(first, draws(100, random, around(1.0, 0.004)), 0.005).equivalent;
  });
  EXPECT_GE(right, 0.90);
}

TEST(Series, FlatNoiseIsFlat) {
  for (const double deviation : {0.001, 0.005, 0.02}) {
    for (const std::size_t count : {10u, 25u, 100u, 1000u}) {
      const double flat = share_of(count == 1000u ? 200 : kSeriesRuns, [&](Random& random) {
        return classify_series(draws(count, random, around(1.0, deviation))) == Trend::flat;
      });
      EXPECT_GE(flat, 0.95) << deviation << ", n = " << count;
    }
  }
}

TEST(Series, FlatNoiseWithSpikesOrTicksIsFlat) {
  const Draw spiky = [](Random& r) { return (1.0 + 0.004 * r.normal()) * (r.uniform() < 0.01 ? 2.0 : 1.0); };
  const Draw ticking = [](Random& r) { return std::round(100.0 * (1.0 + 0.004 * r.normal())); };
  for (const Draw& draw : {spiky, ticking}) {
    EXPECT_GE(
        share_of(kSeriesRuns, [&](Random& r) { return classify_series(draws(100, r, draw)) == Trend::flat; }),
        0.95);
  }
}

/// Exponential approach to 1 from `start`, over a tenth of the series.
std::vector<double> settling(std::size_t count, double start, Random& random) {
  std::vector<double> values = draws(count, random, around(1.0, 0.003));
  for (std::size_t i = 0; i < count; ++i) {
    values[i] += (start - 1.0) * std::exp(-10.0 * static_cast<double>(i) / static_cast<double>(count));
  }
  return values;
}

TEST(Series, SettlingIsSeenFromBothSides) {
  for (const std::size_t count : {30u, 100u}) {
    EXPECT_GE(
        share_of(kSeriesRuns,
                 [&](Random& r) { return classify_series(settling(count, 1.05, r)) == Trend::warming_up; }),
        0.95)
        << count;
    EXPECT_GE(
        share_of(kSeriesRuns,
                 [&](Random& r) { return classify_series(settling(count, 0.95, r)) == Trend::slowing_down; }),
        0.95)
        << count;
  }
}

TEST(Series, LateStepAndAlternationAreNeverSteady) {
  const auto late_or_alternating = [](Random& random, bool late) {
    std::vector<double> values = draws(100, random, around(1.0, 0.003));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= (late ? i < 90 : i / 20 % 2 == 1) ? 1.05 : 1.0;
    }
    return classify_series(values) == Trend::never_steady;
  };
  EXPECT_GE(share_of(kSeriesRuns, [&](Random& random) { return late_or_alternating(random, true); }), 0.95);
  EXPECT_GE(share_of(kSeriesRuns, [&](Random& random) { return late_or_alternating(random, false); }), 0.95);
}

/// Sum of squares of a partition, given as the bits after which a new segment begins, plus its penalties.
double partition_cost(const std::vector<double>& values, unsigned changes, double penalty) {
  double total = 0.0;
  for (std::size_t begin = 0, end = 1; end <= values.size(); ++end) {
    if (end < values.size() && (changes >> (end - 1) & 1u) == 0u) {
      continue;
    }
    double mean = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      mean += values[i] / static_cast<double>(end - begin);
    }
    for (std::size_t i = begin; i < end; ++i) {
      total += (values[i] - mean) * (values[i] - mean);
    }
    total += begin > 0 ? penalty : 0.0;
    begin = end;
  }
  return total;
}

std::vector<std::size_t> best_by_trying_all(const std::vector<double>& values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) {
    steps.push_back(std::abs(values[i] - values[i - 1]));
  }
  const double deviation = median(steps) / 0.674489750196082 / std::sqrt(2.0);
  const auto count = static_cast<double>(values.size());
  const double penalty = 3.0 * std::log(count) * deviation * deviation * (1.0 + 20.0 / count);
  unsigned best = 0;
  double least = partition_cost(values, 0, penalty);
  for (unsigned changes = 1; changes < 1u << (values.size() - 1); ++changes) {
    const double cost = partition_cost(values, changes, penalty);
    best = cost < least ? changes : best;
    least = std::min(least, cost);
  }
  std::vector<std::size_t> result;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if ((best >> (i - 1) & 1u) != 0u) {
      result.push_back(i);
    }
  }
  return result;
}

TEST(ChangePoints, EqualToTryingEveryPartition) {
  std::size_t found = 0;
  EXPECT_EQ(share_of(100,
                     [&](Random& random) {
                       std::vector<double> values;
                       const std::size_t count = 3 + random.below(12);
                       double level = 10.0;
                       for (std::size_t i = 0; i < count; ++i) {
                         level += random.uniform() < 0.25 ? 20.0 * random.normal() : 0.0;
                         values.push_back(level + random.normal());
                       }
                       const std::vector<std::size_t> changes = change_points(values);
                       found += changes.size();
                       return changes == best_by_trying_all(values);
                     }),
            1.0);
  EXPECT_GT(found, 50u);  // or the comparison said nothing
}

}  // namespace
}  // namespace jitterscope::statistics
