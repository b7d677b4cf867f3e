#include "device/cpu/number_formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jitterscope::cpu {
namespace {

// The value of half bits by the definition of the format.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, EveryBitPatternReadsAndWritesBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = Half::read(half);
    if (std::isnan(half_value(half))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(Half::read(Half::write(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), half_value(half)) << bits;
      ASSERT_EQ(Half::write(value), bits);
    }
  }
}

TEST(Half, RoundsHalfwayToEvenAndElseToNearest) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_value(bits), high = half_value(static_cast<std::uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const std::uint16_t even = bits % 2 == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
    ASSERT_EQ(Half::write(middle), even) << bits;
    ASSERT_EQ(Half::write(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(Half::write(std::nextafter(middle, INFINITY)), bits + 1);
  }
  EXPECT_EQ(Half::write(65519.99f), 0x7bff);
  EXPECT_EQ(Half::write(65520.0f), 0x7c00) << "rounds up to infinity";
  EXPECT_EQ(Half::write(-1e30f), 0xfc00);
}

TEST(BFloat16, RoundsHalfwayToEven) {
  EXPECT_EQ(BFloat16::write(1.0f), 0x3f80);
  EXPECT_EQ(BFloat16::write(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(BFloat16::write(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(BFloat16::write(1.0f + 0x1.1p-8f), 0x3f81);
  EXPECT_EQ(BFloat16::write(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(BFloat16::read(BFloat16::write(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(BFloat16::read(BFloat16::write(-0.15625f)), -0.15625f);
}

}  // namespace
}  // namespace jitterscope::cpu
