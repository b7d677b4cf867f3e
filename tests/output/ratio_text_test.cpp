#include "output/cells.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

TEST(RatioText, IsAChangeInPercent) {
  EXPECT_EQ(change_of({0.9779, 0.9763, 0.9795}), "-2.21 ± 0.16 %");
  EXPECT_EQ(change_with_interval({0.9779, 0.9763, 0.9795}), "-2.21 % (-2.37 to -2.05 %)");
}

TEST(RatioText, IsAFactorFarFromOne) {
  EXPECT_EQ(change_of({12.3, 12.1, 12.5}), "12.3 ± 0.2 times");
  EXPECT_EQ(change_with_interval({12.3, 12.1, 12.5}), "12.3 times (12.1 to 12.5)");
}

TEST(RatioText, AFactorIsKnownToMoreThanNothing) {
  EXPECT_EQ(change_of({3.733, 3.730, 3.736}), "3.733 ± 0.003 times");
}

// -22 ± 20 % would exclude that nothing changes, which this interval does not.
TEST(RatioText, AWideIntervalIsNotSymmetric) {
  EXPECT_EQ(change_of({0.778, 0.601, 1.008}), "-39.9 to +0.8 %");
  EXPECT_EQ(change_of({0.778, 0.75, 0.807}), "-22.2 ± 2.9 %");
}

// Two records of two processes each: Welch's interval is wider than all that it could be about.
TEST(RatioText, WhatIsNotKnownIsARange) { EXPECT_EQ(change_of({0.4, -10.3, 11.1}), "0.0 to 11.1 times"); }

}  // namespace
}  // namespace jitterscope
