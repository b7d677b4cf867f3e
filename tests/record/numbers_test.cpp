#include "record/json_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace jitterscope {
namespace {

TEST(Seconds, WholeNanosecondsComeBack) {
  for (double time = 1; time < 1e7; time += 977) {
    EXPECT_EQ(from_seconds(in_seconds(Nanoseconds(time))), Nanoseconds(time));
  }
  EXPECT_EQ(from_seconds(0.0001279), Nanoseconds(127900));
  EXPECT_EQ(from_seconds(1.25e-8), Nanoseconds(12.5));
  EXPECT_EQ(from_seconds(-4.5e-9), Nanoseconds(-4.5));
  EXPECT_EQ(from_seconds(0), Nanoseconds(0));
}

TEST(Seconds, AnyTimeIsWrittenAsItWasRead) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    const double seconds = in_seconds(Nanoseconds(std::exp(random.uniform(-20.0, 50.0))));
    EXPECT_EQ(in_seconds(from_seconds(seconds)), seconds);
  }
}

TEST(Seconds, WhatNoNanosecondsHoldIsNotFinite) {
  EXPECT_FALSE(std::isfinite(from_seconds(1e300).value()));
  EXPECT_TRUE(std::isfinite(from_seconds(std::numeric_limits<double>::denorm_min()).value()));
}

TEST(SixDigits, AreTheNearest) {
  EXPECT_EQ(six_digits(0.0009999999999998864), 0.001);
  EXPECT_EQ(six_digits(-1234567.8), -1234570);
  EXPECT_EQ(six_digits(0), 0);
  EXPECT_TRUE(std::isnan(six_digits(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace jitterscope
