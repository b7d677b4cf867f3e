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
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(half);
    if (std::isnan(half_value(half.bits))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), half_value(half.bits)) << bits;
      ASSERT_EQ(Half(value).bits, bits);
    }
  }
}

TEST(Half, RoundsHalfwayToEvenAndElseToNearest) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_value(bits), high = half_value(static_cast<std::uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const std::uint16_t even = bits % 2 == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
    ASSERT_EQ(Half(middle).bits, even) << bits;
    ASSERT_EQ(Half(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(Half(std::nextafter(middle, INFINITY)).bits, bits + 1);
  }
  EXPECT_EQ(Half(65519.99f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00) << "rounds up to infinity";
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
}

TEST(BFloat16, RoundsHalfwayToEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);
  EXPECT_EQ(BFloat16(1.0f + 0x1.1p-8f).bits, 0x3f81);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(static_cast<float>(BFloat16(-0.15625f)), -0.15625f);
}

}  // namespace
}  // namespace jitterscope::cpu
