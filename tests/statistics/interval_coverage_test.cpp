// Whether the intervals hold the truth as often as they say. 2,000 runs each: a Monte-Carlo standard error of
// 0.5 %.
#include <gtest/gtest.h>

#include <cmath>

#include "statistics/simulation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

constexpr int kRuns = 2000;
constexpr double kError = 0.01;  // two standard errors

bool holds(const Interval& interval, double truth) { return interval.low <= truth && truth <= interval.high; }

struct Distribution {
  const char* name;
  double median;
  Draw draw;
};

std::vector<Distribution> distributions() {
  return {
      {"normal", 100.0, [](Random& r) { return 100.0 + r.normal(); }},
      {"lognormal", 1.0, [](Random& r) { return std::exp(0.5 * r.normal()); }},
      {"exponential", std::log(2.0), [](Random& r) { return -std::log(1.0 - r.uniform()); }},
      {"Cauchy", 0.0, [](Random& r) { return r.normal() / r.normal(); }},
      {"ticks of 0.5 sd", 0.0, [](Random& r) { return std::round(2.0 * r.normal()) / 2.0; }},
  };
}

TEST(Coverage, MedianInterval) {
  for (const Distribution& distribution : distributions()) {
    for (const std::size_t count : {6u, 7u, 10u, 13u, 20u, 25u, 40u}) {
      const double coverage = share_of(kRuns, [&](Random& random) {
        const std::vector<double> values = draws(count, random, distribution.draw);
        return holds(median_interval(values).value(), distribution.median);
      });
      EXPECT_GE(coverage, 0.95 - kError) << distribution.name << ", n = " << count;
    }
  }
}

/// The 95 % interval once the interval of the rule's own confidence is narrow, looked at after each round
/// from the tenth.
Interval interval_when_narrow(Random& random, const Draw& draw, double rule_confidence) {
  constexpr double kPrecision = 0.005;
  constexpr std::size_t kMostRounds = 300;
  std::vector<double> values = draws(9, random, draw);
  for (;;) {
    values.push_back(draw(random));
    const Interval rule = order_statistic_interval(values, rule_confidence).value();
    if (rule.high - rule.low <= 2.0 * kPrecision * median(values) || values.size() == kMostRounds) {
      return median_interval(values).value();
    }
  }
}

double coverage_when_narrow(const Draw& draw, double rule_confidence) {
  return share_of(
      kRuns, [&](Random& random) { return holds(interval_when_narrow(random, draw, rule_confidence), 1.0); });
}

Draw symmetric(double deviation) {
  return [=](Random& random) { return 1.0 + deviation * random.normal(); };
}

Draw skewed(double deviation) {
  return [=](Random& random) { return 1.0 - deviation * (std::log(1.0 - random.uniform()) + std::log(2.0)); };
}

TEST(Coverage, StoppingWhenNarrowKeepsItInQuietRounds) {
  for (const double deviation : {0.001, 0.003, 0.006}) {
    EXPECT_GE(coverage_when_narrow(symmetric(deviation), 0.95), 0.94) << deviation;
    EXPECT_GE(coverage_when_narrow(skewed(deviation), 0.95), 0.94) << deviation;
  }
}

// Rounds that scatter by more than the precision asked for need tens of looks, and the rule then picks the
// moments when chance made the interval narrow: 91 % at a deviation of 2 %. A rule that asks the 98 %
// interval to be narrow keeps the 95 % one honest, for a third more rounds.
TEST(Coverage, StoppingOnTheWiderIntervalKeepsItInNoisyRounds) {
  EXPECT_LT(coverage_when_narrow(symmetric(0.02), 0.95), 0.94);
  for (const double deviation : {0.003, 0.01, 0.02}) {
    EXPECT_GE(coverage_when_narrow(symmetric(deviation), 0.98), 0.94) << deviation;
    EXPECT_GE(coverage_when_narrow(skewed(deviation), 0.98), 0.94) << deviation;
  }
}

struct ClockModel {
  double clock_deviation, noise;
};

std::optional<InverseClockFit> fit_of(const ClockModel& model, std::size_t count, Random& random) {
  // 10 us at the reference, 7 us of them following the clock.
  std::vector<double> times, clocks;
  for (std::size_t i = 0; i < count; ++i) {
    clocks.push_back(1.8e9 * (1.0 + model.clock_deviation * random.normal()));
    times.push_back(3e-6 + 12600.0 / clocks.back() + 1e-5 * model.noise * random.normal());
  }
  return fit_inverse_clock(times, clocks, 1.8e9);
}

TEST(Coverage, InverseClockInTheModel) {
  for (const std::size_t count : {15u, 25u, 60u}) {
    for (const double noise : {0.0005, 0.002}) {
      const double coverage = share_of(kRuns, [&](Random& random) {
        const auto fit = fit_of({.clock_deviation = 0.01, .noise = noise}, count, random);
        return fit && holds(fit->interval, 1e-5);
      });
      EXPECT_GE(coverage, 0.93) << count << ", " << noise;
      EXPECT_LE(coverage, 0.97) << count << ", " << noise;
    }
  }
}

TEST(Coverage, InverseClockIsSilentWithoutVariation) {
  for (const double deviation : {0.0, 1e-7, 0.0005}) {
    EXPECT_GE(
        share_of(kRuns,
                 [&](Random& random) {
                   return !fit_of({.clock_deviation = deviation, .noise = 0.005}, 40, random).has_value();
                 }),
        0.99)
        << deviation;
  }
}

TEST(Coverage, Line) {
  double slopes = 0.0;
  const double intercepts = share_of(kRuns, [&](Random& random) {
    std::vector<double> x, y;
    for (int i = 1; i <= 8; ++i) {
      x.push_back(i);
      y.push_back(2.0 + 0.5 * i + 0.1 * random.normal());
    }
    const LinearFit fit = fit_line(x, y).value();
    slopes += holds(fit.slope_interval, 0.5) ? 1.0 / kRuns : 0.0;
    return holds(fit.intercept_interval, 2.0);
  });
  EXPECT_NEAR(intercepts, 0.95, 2.0 * kError);
  EXPECT_NEAR(slopes, 0.95, 2.0 * kError);
}

}  // namespace
}  // namespace jitterscope::statistics
