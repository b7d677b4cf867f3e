// 16-bit floating point in software, free of branches so that loops over it vectorise on any CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace jitterscope::cpu {

struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  /// Round to nearest, ties to even; a NaN stays a NaN.
  explicit BFloat16(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    bits = static_cast<std::uint16_t>(value != value ? 0x7fc0u : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u;
    const std::uint32_t magnitude = word & 0x7fffffffu;
    // Normal numbers: rebias the exponent by 127 - 15 and round the 13 bits that go, ties to even.
    const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded by the hardware, in the low mantissa.
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    std::uint32_t half = magnitude < 0x38800000u ? subnormal - 0x3f000000u : normal;
    half = magnitude >= 0x47800000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    bits = static_cast<std::uint16_t>(sign | half);
  }
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t magnitude = std::uint32_t{bits & 0x7fffu} << 13;
    // Scaling by 2^112 rebiases the exponent, of subnormal numbers too.
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t special = magnitude | 0x7f800000u;
    return std::bit_cast<float>(sign | (magnitude >= 0x0f800000u ? special : finite));
  }
};

}  // namespace jitterscope::cpu
