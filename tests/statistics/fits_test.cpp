#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

TEST(Line, GoldenValuesByHand) {
  // Means 3 and 4; Sxx = 10, Sxy = 6; residuals -0.8, 0.6, 1, -0.6, -0.2: squares 2.4; t(3) at 97.5 %
  // = 3.182446.
  const auto fit = fit_line(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{2, 4, 5, 4, 5});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slope, 0.6, 1e-12);
  EXPECT_NEAR(fit->intercept, 2.2, 1e-12);
  EXPECT_NEAR(fit->residual_deviation, std::sqrt(0.8), 1e-12);
  EXPECT_NEAR(fit->slope_interval.high, 0.6 + 3.182446 * std::sqrt(0.08), 1e-6);
  EXPECT_NEAR(fit->intercept_interval.low, 2.2 - 3.182446 * std::sqrt(0.8 * (0.2 + 0.9)), 1e-6);
}

TEST(Line, NothingWhereThereIsNoLine) {
  EXPECT_FALSE(fit_line({}, {}));
  EXPECT_FALSE(fit_line(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  EXPECT_FALSE(fit_line(std::vector<double>{0.1, 0.1, 0.1, 0.1}, std::vector<double>{1, 2, 3, 4}));
  EXPECT_THROW(fit_line(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2}), std::invalid_argument);
}

TEST(InverseClock, ExactModelIsRecovered) {
  std::vector<double> times, clocks;
  for (int i = 0; i < 12; ++i) {
    clocks.push_back(1.7e9 + 1e7 * i);
    times.push_back(3e-6 + 9000.0 / clocks.back());
  }
  const auto fit = fit_inverse_clock(times, clocks, 1.8e9);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->intercept, 3e-6, 1e-15);
  EXPECT_NEAR(fit->slope, 9000.0, 1e-5);
  EXPECT_NEAR(fit->at_reference, 8e-6, 1e-16);
  EXPECT_NEAR(fit->clock_share, 5.0 / 8.0, 1e-9);
  EXPECT_NEAR(fit->interval.high - fit->interval.low, 0.0, 1e-15);
}

TEST(InverseClock, JackknifeIsThatOfLeavingEachPointOut) {
  Random random(3);
  std::vector<double> times, clocks;
  for (int i = 0; i < 15; ++i) {
    clocks.push_back(1.8 * (1.0 + 0.02 * random.normal()));
    times.push_back(2.0 + 9.0 / clocks.back() + 0.02 * random.normal());
  }
  const auto fit = fit_inverse_clock(times, clocks, 1.8);
  ASSERT_TRUE(fit);
  double mean = 0.0, squares = 0.0;
  for (std::size_t left_out = 0; left_out < times.size(); ++left_out) {
    std::vector<double> t = times, f = clocks;
    t.erase(t.begin() + static_cast<std::ptrdiff_t>(left_out));
    f.erase(f.begin() + static_cast<std::ptrdiff_t>(left_out));
    const auto part = fit_inverse_clock(t, f, 1.8);
    ASSERT_TRUE(part);
    mean += part->at_reference / 15.0;
    squares += part->at_reference * part->at_reference;
  }
  const double error = std::sqrt(14.0 / 15.0 * (squares - 15.0 * mean * mean));
  EXPECT_NEAR((fit->interval.high - fit->interval.low) / 2.0, 2.144787 * error, 1e-5 * error);  // t(14)
}

TEST(InverseClock, NothingWithoutClockVariation) {
  const std::vector<double> clocks(20, 1.8e9);
  std::vector<double> times(20, 1e-5);
  times[3] = 1.1e-5;
  EXPECT_FALSE(fit_inverse_clock(times, clocks, 1.8e9));
  std::vector<double> one_apart = clocks;
  one_apart[5] = 1.7e9;  // its slope rests on one point
  EXPECT_FALSE(fit_inverse_clock(times, one_apart, 1.8e9));
  EXPECT_FALSE(fit_inverse_clock({}, {}, 1.8e9));
  EXPECT_FALSE(fit_inverse_clock(times, std::vector<double>(20, 0.0), 1.8e9));
  EXPECT_THROW(fit_inverse_clock(times, std::vector<double>(19, 1.8e9), 1.8e9), std::invalid_argument);
}

}  // namespace
}  // namespace jitterscope::statistics
