// Number formats in memory and in arithmetic. 16-bit types are converted in software by integer selections,
// so that loops over them vectorise on any CPU: with branches on the random signs of the data a relu takes 15
// ns for each element.
#pragma once

#include <bit>
#include <cstdint>

namespace jitterscope::cpu {

/// Returns `a` if the condition holds, else `b`, by a mask. The compiler makes a branch of `?:` if one side
/// is floating-point arithmetic, which could raise a flag.
inline std::uint32_t select(bool condition, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (a & mask) | (b & ~mask);
}

template <class Number>
struct Native {
  using Stored = Number;
  using Value = Number;
  static Value read(Stored stored) { return stored; }
  static Stored write(Value value) { return value; }
};

struct BFloat16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float read(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  static std::uint16_t write(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    return static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
};

struct Half {
  using Stored = std::uint16_t;
  using Value = float;
  static float read(std::uint16_t bits) {
    const std::uint32_t sign = (std::uint32_t{bits} & 0x8000u) << 16;
    const std::uint32_t magnitude = (std::uint32_t{bits} & 0x7fffu) << 13;
    // Scaling by 2^112 rebiases the exponent, also for subnormal numbers.
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t special = magnitude | 0x7f800000u;
    return std::bit_cast<float>(sign | select(magnitude >= 0x0f800000u, special, finite));
  }
  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  static std::uint16_t write(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u;
    const std::uint32_t magnitude = word & 0x7fffffffu;
    // Normal numbers: rebias the exponent by 127 - 15 and round away the low 13 bits, ties to even.
    const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded by the hardware, in the low mantissa.
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    std::uint32_t half = select(magnitude < 0x38800000u, subnormal - 0x3f000000u, normal);
    half = select(magnitude >= 0x47800000u, 0x7c00u, half);
    half = select(magnitude > 0x7f800000u, 0x7e00u, half);
    return static_cast<std::uint16_t>(sign | half);
  }
};

}  // namespace jitterscope::cpu
