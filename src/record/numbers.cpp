#include "record/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace jitterscope {
namespace {

// The same digits with the point moved by nine places: of several times with the same seconds, the one whose
// digits are the fewest, which is what was written where a clock counts whole nanoseconds.
double point_moved(double seconds) {
  constexpr int kPlaces = 9;
  std::array<char, 64> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::scientific);
  char* exponent = written.ptr;
  while (exponent[-1] != 'e') --exponent;
  int power = 0;
  std::from_chars(*exponent == '+' ? exponent + 1 : exponent, written.ptr, power);
  const auto moved = std::to_chars(exponent, text.data() + text.size(), power + kPlaces);
  double value = std::numeric_limits<double>::infinity();
  std::from_chars(text.data(), moved.ptr, value, std::chars_format::scientific);
  return value;
}

}  // namespace

Nanoseconds from_seconds(double seconds) {
  const double product = seconds * 1e9;
  if (!std::isfinite(product)) return Nanoseconds(product);
  constexpr double kUp = std::numeric_limits<double>::infinity();
  const double up = std::nextafter(product, kUp), down = std::nextafter(product, -kUp);
  for (const double time :
       {point_moved(seconds), product, up, down, std::nextafter(up, kUp), std::nextafter(down, -kUp)}) {
    if (in_seconds(Nanoseconds(time)) == seconds) return Nanoseconds(time);
  }
  return Nanoseconds(product);
}

double six_digits(double value) {
  constexpr int kDigitsBehindPoint = 5;
  if (!std::isfinite(value)) return value;
  std::array<char, 64> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::scientific, kDigitsBehindPoint);
  double rounded = value;
  std::from_chars(text.data(), written.ptr, rounded);
  return rounded;
}

}  // namespace jitterscope
