#include "output/cells.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

TEST(RatioText, IsAChangeInPercent) {
  EXPECT_EQ(change_of({0.9779, 0.9763, 0.9795}), "-2.21 ± 0.16 %");
  EXPECT_EQ(change_with_interval({0.9779, 0.9763, 0.9795}), "-2.21 % (-2.37 to -2.05 %)");
}

TEST(RatioText, AnIntervalToOneSideHasBothEnds) {
  EXPECT_EQ(change_of({1.0, 0.994, 1.038}), "-0.6 to +3.8 %");
  EXPECT_EQ(change_of({1.05, 1.0, 1.051}), "+0.0 to +5.1 %");
  EXPECT_EQ(change_of({1.0002, 1.0, 1.0003}), "+0.02 ± 0.01 %");
}

TEST(RatioText, NoChangeHasNoMinus) {
  EXPECT_EQ(change_of({0.99999, 0.9998, 1.0002}), "+0.00 ± 0.02 %");
  EXPECT_EQ(change_words_of({0.99999, 0.9998, 1.0002}).change, "+0.00 %");
}

TEST(RatioText, IsAFactorFromTwoOnInBothDirectionsAlike) {
  EXPECT_EQ(change_of({12.3, 12.1, 12.5}), "12.3 times ± 1.6 %");
  EXPECT_EQ(change_of({1 / 12.3, 1 / 12.5, 1 / 12.1}), "1/12.3 ± 1.6 %");
  EXPECT_EQ(change_with_interval({12.3, 12.1, 12.5}), "12.3 times as long (12.1 to 12.5)");
  EXPECT_EQ(change_with_interval({1 / 12.3, 1 / 12.5, 1 / 12.1}), "1/12.3 of the time (1/12.5 to 1/12.1)");
  EXPECT_EQ(change_of({1.99, 1.98, 2.0}), "+99.0 ± 1.0 %");
  EXPECT_EQ(change_of({0.51, 0.50, 0.52}), "-49.0 ± 1.0 %");
}

// Two digits of the half-width at most, and none below a hundredth of a percent.
TEST(RatioText, DigitsFollowTheInterval) {
  EXPECT_EQ(change_of({1.99547, 1.99521, 1.99573}), "+99.55 ± 0.03 %");
  EXPECT_EQ(change_with_interval({1.99547, 1.99521, 1.99573}), "+99.55 % (+99.52 to +99.57 %)");
  EXPECT_EQ(change_of({1.523601, 1.523591, 1.523611}), "+52.36 ± 0.01 %");
  EXPECT_EQ(change_with_interval({1.523601, 1.523591, 1.523611}), "+52.36 % (± 0.01 %)");
  EXPECT_EQ(change_of({1.0312, 1.0187, 1.0437}), "+3.1 ± 1.3 %");
  EXPECT_EQ(change_with_interval({1.25, 1.05, 1.49}), "+25 % (+5 to +49 %)");
  EXPECT_EQ(change_with_interval({1.141, 1.141, 1.141}), "+14.1 %");
}

TEST(RatioText, AFactorIsKnownToMoreThanNothing) {
  EXPECT_EQ(change_of({3.733, 3.730, 3.736}), "3.733 times ± 0.08 %");
}

// -22 ± 20 % would exclude that nothing changes, which this interval does not.
TEST(RatioText, AWideIntervalIsNotSymmetric) {
  EXPECT_EQ(change_of({0.778, 0.601, 1.008}), "-40 to +1 %");
  EXPECT_EQ(change_of({0.778, 0.75, 0.807}), "-22.2 ± 2.9 %");
  EXPECT_EQ(change_of({3.0, 2.1, 4.3}), "2.1 to 4.3 times");
  EXPECT_EQ(change_of({0.25, 0.2, 0.31}), "1/5.0 to 1/3.2");
}

TEST(RatioText, OneIntervalIsSaidInOneWay) {
  EXPECT_EQ(change_of({1.27, 0.65, 2.46}), "0.7 to 2.5 times");
  EXPECT_EQ(change_with_interval({1.27, 0.65, 2.46}), "+27 % (0.7 to 2.5 times)");
  EXPECT_EQ(change_with_interval({1.99, 1.95, 2.03}), "+99.0 % (+95.0 to +103.0 %)");
}

// Two records of two processes each: Welch's interval is wider than all that it could be about.
TEST(RatioText, AFactorToEitherSideIsARange) {
  EXPECT_EQ(change_with_interval({0.25, 0.005, 3.8}), "0.0 to 3.8 times as long");
  EXPECT_EQ(change_with_interval({0.4, 0.1, 1.5}), "0.1 to 1.5 times as long");
  EXPECT_EQ(change_of({0.4, 0.1, 1.5}), "0.1 to 1.5 times");
  EXPECT_EQ(change_with_interval({4.0, 0.5, 30.0}), "0.5 to 30.0 times as long");
}

TEST(RatioText, WhatIsNotKnownToAFactorOfTenIsNotKnown) {
  EXPECT_EQ(change_of({0.4, -10.3, 11.1}), "not known");
  EXPECT_EQ(change_with_interval({12.0, 0.01, 4326.5}), "not known");
  EXPECT_EQ(change_of({0.4, -10.3, 8.1}), "0.0 to 8.1 times");
  EXPECT_EQ(change_with_interval({0.4, -10.3, 8.1}), "0.0 to 8.1 times as long");
}

}  // namespace
}  // namespace jitterscope
