// Physical quantities as types, so that no interface takes a bare double.
#pragma once

#include <compare>
#include <cstdint>

namespace jitterscope {

/// A number with a unit. Arithmetic keeps the unit; the ratio of two quantities is a plain number.
template <class Tag, class Representation = double>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Representation value) : value_(value) {}

  constexpr Representation value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Representation factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(Representation factor, Quantity a) { return a * factor; }
  friend constexpr Quantity operator/(Quantity a, Representation divisor) {
    return Quantity(a.value_ / divisor);
  }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }

 private:
  Representation value_{};
};

using Nanoseconds = Quantity<struct NanosecondsTag>;
using Hertz = Quantity<struct HertzTag>;
using Cycles = Quantity<struct CyclesTag>;
using Watts = Quantity<struct WattsTag>;
using Joules = Quantity<struct JoulesTag>;
using Celsius = Quantity<struct CelsiusTag>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;

constexpr Nanoseconds microseconds(double count) { return Nanoseconds(count * 1e3); }
constexpr Nanoseconds milliseconds(double count) { return Nanoseconds(count * 1e6); }
constexpr Nanoseconds seconds(double count) { return Nanoseconds(count * 1e9); }
constexpr double to_seconds(Nanoseconds time) { return time.value() * 1e-9; }
constexpr Hertz megahertz(double count) { return Hertz(count * 1e6); }

/// Number of cycles that a clock of `frequency` counts in `time`.
constexpr Cycles cycles_in(Nanoseconds time, Hertz frequency) {
  return Cycles(to_seconds(time) * frequency.value());
}

}  // namespace jitterscope
