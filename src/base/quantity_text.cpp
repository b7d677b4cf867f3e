#include "base/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace jitterscope::base {
namespace {

// Fixed notation with as many decimals as the digits asked for leave: no exponent, no digit more than known.
std::string fixed_text(double value, int significant_digits) {
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const int before_point = magnitude > 0 ? static_cast<int>(std::floor(std::log10(magnitude))) + 1 : 1;
  const int decimals = std::max(0, significant_digits - before_point);
  return fmt::format("{:.{}f}", value, decimals);
}

// 999.96 at four digits is 1000.0: what decides on the unit is the rounded value.
double rounded(double value, int significant_digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double exponent = std::floor(std::log10(std::abs(value))) + 1 - significant_digits;
  const double step = std::pow(10.0, exponent);
  return std::round(value / step) * step;
}

}  // namespace

std::string time_text(Nanoseconds time, int significant_digits) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "µs", "ms", "s"};
  double value = rounded(time.value(), significant_digits);
  std::size_t unit = 0;
  while (std::abs(value) >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return fixed_text(value, significant_digits) + " " + kUnits[unit];
}

std::string clock_text(Hertz clock) { return fmt::format("{:.0f} MHz", clock.value() * 1e-6); }

std::string power_text(Watts power) { return fmt::format("{:.0f} W", power.value()); }

std::string percent_text(double ratio, int significant_digits) {
  return fixed_text(rounded(ratio * 100.0, significant_digits), significant_digits) + " %";
}

std::string change_text(double ratio) {
  const double percent = ratio * 100.0;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 1.0 ? 2 : 1);
}

}  // namespace jitterscope::base
