// The host's costs and the timers.
#include <gtest/gtest.h>

#include <algorithm>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

TEST(HostCosts, AreLogNormalWithATail) {
  Parameters p;
  p.launch.host_median = microseconds(4);
  p.launch.host_sigma = 0.3;
  p.launch.tail_probability = 0.01;
  p.launch.tail_scale = microseconds(50);
  HostCosts costs(p, 3);
  std::vector<double> drawn;
  for (int i = 0; i < 100000; ++i) drawn.push_back(costs.launch().value());
  std::sort(drawn.begin(), drawn.end());
  EXPECT_NEAR(drawn[50000], 4000, 40);
  EXPECT_NEAR(drawn[84134] / drawn[50000], std::exp(0.3), 0.03);
  const auto tail = std::count_if(drawn.begin(), drawn.end(), [](double cost) { return cost > 50000; });
  EXPECT_NEAR(static_cast<double>(tail), 1000, 100);
  // Pareto of shape 1.5: a share of 2^-1.5 of the tail is beyond twice the scale.
  const auto far = std::count_if(drawn.begin(), drawn.end(), [](double cost) { return cost > 104000; });
  EXPECT_NEAR(static_cast<double>(far) / static_cast<double>(tail), std::pow(2, -1.5), 0.05);
  EXPECT_LT(drawn.back(), 50000 * 100 + 50000);
}

TEST(HostCosts, AreTheirMediansWithoutTheMechanism) {
  Parameters p;
  p.launch.host_median = microseconds(4);
  p.launch.synchronize_cost = microseconds(7);
  HostCosts costs(p.without(Mechanism::host_gaps), 3);
  EXPECT_EQ(costs.launch(), microseconds(4));
  EXPECT_EQ(costs.synchronize(), microseconds(7));
}

TEST(Timers, JitterIsThatOfADifference) {
  Parameters p;
  p.instruments.mark_jitter = Nanoseconds(100);
  Timers timers(p, 3);
  double squares = 0;
  constexpr int kCount = 50000;
  for (int i = 0; i < kCount; ++i) {
    const Nanoseconds first = timers.read_mark(seconds(1)), second = timers.read_mark(seconds(1));
    squares += (second - first).value() * (second - first).value();
  }
  EXPECT_NEAR(std::sqrt(squares / kCount), 100, 1.5);
}

TEST(Timers, CountInTheirGrain) {
  Parameters p;
  p.instruments.mark_grain = Nanoseconds(500);
  p.instruments.stamp_grain = Nanoseconds(32);
  Timers timers(p, 3);
  EXPECT_EQ(timers.read_mark(Nanoseconds(1999)), Nanoseconds(1500));
  EXPECT_EQ(timers.read_stamp(Nanoseconds(1999)), Nanoseconds(1984));
  Timers exact(p.without(Mechanism::timer_grain), 3);
  EXPECT_EQ(exact.read_mark(Nanoseconds(1999)), Nanoseconds(1999));
  EXPECT_EQ(exact.read_stamp(Nanoseconds(1999)), Nanoseconds(1999));
}

}  // namespace
}  // namespace jitterscope::physics
