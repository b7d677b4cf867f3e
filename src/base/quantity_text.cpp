#include "base/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

namespace jitterscope {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr std::array<Unit, 4> kTimeUnits = {{{"ns", 1.0}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 6> kDecimalPrefixes = {
    {{"", 1.0}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};
constexpr std::array<Unit, 6> kBinaryUnits = {
    {{"B", 0x1p0}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}}};

// Number of decimals with which the last digit is worth at most `step`.
int decimals_for(double step) {
  constexpr int kMost = 9;
  // 5 % of tolerance: 0.9996 of a unit needs no more digits than 1.0004 of it.
  constexpr double kTolerance = 0.02;
  return step > 0 ? std::clamp(static_cast<int>(-std::floor(std::log10(step) + kTolerance)), 0, kMost) : 0;
}

std::string without_trailing_zeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

std::string with_digits(double value, int digits) {
  const double step = std::abs(value) * std::pow(10.0, 1 - digits);
  return without_trailing_zeros(fixed_text(value, decimals_for(step)));
}

// Limits precision to between four digits (more is below any timer's grain) and one part in twenty.
double usable_precision(double precision) {
  return std::isfinite(precision) ? std::clamp(precision, 1e-4, 0.05) : 0.005;
}

// Returns the first unit in which the value, as printed, stays below `limit`.
const Unit& unit_for(double value, double precision, std::span<const Unit> units, double limit = 1000.0) {
  for (const Unit& unit : units.first(units.size() - 1)) {
    const double in_unit = std::abs(value) / unit.size;
    const double last_digit = std::pow(10.0, -decimals_for(in_unit * precision));
    if (in_unit + last_digit / 2 < limit) return unit;
  }
  return units.back();
}

}  // namespace

std::string fixed_text(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.starts_with('-') ? text.substr(1) : text;
}

std::string signed_text(double value, int decimals) {
  const std::string text = fixed_text(value, decimals);
  return text.starts_with('-') ? text : '+' + text;
}

std::string time_text(Nanoseconds time, double precision) {
  if (!std::isfinite(time.value())) return std::string(kAbsent);
  const double usable = usable_precision(precision);
  const Unit& unit = unit_for(time.value(), usable, kTimeUnits);
  const double in_unit = time.value() / unit.size;
  return fixed_text(in_unit, decimals_for(std::abs(in_unit) * usable)) + ' ' + std::string(unit.name);
}

std::string time_with_error_text(Nanoseconds time, Nanoseconds error) {
  const double larger = std::max(std::abs(time.value()), error.value());
  if (!std::isfinite(larger)) return std::string(kAbsent);
  const double precision = larger > 0 ? usable_precision(error.value() / larger) : 1.0;
  const Unit& unit = unit_for(larger, precision, kTimeUnits);
  const int decimals = decimals_for(larger / unit.size * precision);
  return fmt::format("{} ± {} {}", fixed_text(time.value() / unit.size, decimals),
                     fixed_text(error.value() / unit.size, decimals), unit.name);
}

std::string time_range_text(Nanoseconds low, Nanoseconds high, double precision) {
  if (!std::isfinite(low.value()) || !std::isfinite(high.value())) return std::string(kAbsent);
  const double usable = usable_precision(precision);
  const Unit& unit = unit_for(high.value(), usable, kTimeUnits);
  const double last = high.value() / unit.size;
  const int decimals = decimals_for(std::abs(last) * usable);
  const std::string from = fixed_text(low.value() / unit.size, decimals);
  const std::string to = fixed_text(last, decimals);
  return fmt::format("{} {}", from == to ? to : from + "–" + to, unit.name);
}

std::string duration_text(Nanoseconds duration) {
  const double in_seconds = to_seconds(duration);
  if (!std::isfinite(in_seconds)) return std::string(kAbsent);
  if (in_seconds < 59.5) {
    const Unit& unit = unit_for(duration.value(), 0.05, kTimeUnits);
    return fmt::format("{} {}", with_digits(duration.value() / unit.size, 2), unit.name);
  }
  const auto whole = static_cast<std::int64_t>(std::llround(in_seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string rate_text(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second)) return std::string(kAbsent);
  const Unit& prefix = unit_for(per_second, 0.01, kDecimalPrefixes);
  const double in_unit = per_second / prefix.size;
  const int decimals = decimals_for(std::abs(in_unit) * 0.01);
  return fmt::format("{} {}{}", fixed_text(in_unit, decimals), prefix.name, unit);
}

std::string clock_text(Hertz clock) {
  if (!std::isfinite(clock.value())) return std::string(kAbsent);
  return fmt::format("{:.0f} MHz", clock.value() / 1e6);
}

std::string power_text(Watts power) { return fmt::format("{:.0f} W", power.value()); }

std::string bytes_text(Bytes bytes) {
  const auto value = static_cast<double>(bytes.value());
  const Unit& unit = unit_for(value, 0.01, kBinaryUnits, 1024.0);
  return fmt::format("{} {}", with_digits(value / unit.size, 3), unit.name);
}

std::string counted(std::int64_t count, std::string_view noun) {
  const std::string_view ending = noun.ends_with('s') || noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : ending);
}

std::string percent_text(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kAbsent);
  return with_digits(fraction * 100, 2) + " %";
}

namespace {

std::string factor_text(double factor) {
  constexpr double kThreeDigits = 1000.0;
  return factor < kThreeDigits ? fmt::format("{:.3g}", factor) : fmt::format("{:.0f}", factor);
}

}  // namespace

std::string change_text(double change) {
  if (!std::isfinite(change)) return std::string(kAbsent);
  const double ratio = 1.0 + change;
  if (ratio >= kSaidAsFactor) return factor_text(ratio) + " times";
  if (ratio > 0.0 && ratio <= 1.0 / kSaidAsFactor) return "1/" + factor_text(1.0 / ratio);
  return signed_text(change * 100.0, std::abs(change) < 0.01 ? 2 : 1) + " %";
}

std::string time_change_text(double change) {
  const std::string text = change_text(change);
  if (text.ends_with(" times")) return text + " as long";
  return text.starts_with("1/") ? text + " of the time" : text;
}

namespace {

struct Prefix {
  std::string_view text;
  int tens, twos;  ///< the factor is 10^tens * 2^twos
};
constexpr Prefix kPrefixes[] = {{"", 0, 0},    {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},  {"T", 12, 0},
                                {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40}};

struct TimeUnit {
  std::string_view text;
  Nanoseconds size;
};
constexpr TimeUnit kTypedTimeUnits[] = {
    {"ns", Nanoseconds(1)},  {"us", microseconds(1)}, {"µs", microseconds(1)},
    {"ms", milliseconds(1)}, {"s", seconds(1)},       {"sec", seconds(1)},
    {"m", seconds(60)},      {"min", seconds(60)},    {"h", seconds(3600)}};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

bool multiply(std::int64_t& value, std::int64_t factor) {
  if (value > std::numeric_limits<std::int64_t>::max() / factor) return false;
  value *= factor;
  return true;
}

// The number before a unit: of `1.50k` the digits 150, two decimals, and the rest `k`.
struct Digits {
  std::int64_t value = 0;
  int decimals = 0;
  std::string_view rest;
};
std::optional<Digits> read_digits(std::string_view text) {
  Digits digits;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  bool behind_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !behind_point && at + 1 < text.size() && is_digit(text[at + 1])) {
      behind_point = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    const std::int64_t digit = text[at] - '0';
    if (!multiply(digits.value, 10) || digits.value > std::numeric_limits<std::int64_t>::max() - digit) {
      return std::nullopt;
    }
    digits.value += digit;
    if (behind_point) ++digits.decimals;
  }
  digits.rest = text.substr(at);
  return digits;
}

std::optional<Prefix> exponent(std::string_view text) {
  constexpr int kLargest = 30;
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E') || !is_digit(text[1])) return {};
  int tens = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, tens);
  if (error != std::errc() || rest != end || tens > kLargest) return std::nullopt;
  return Prefix{text, tens, 0};
}

std::optional<Prefix> find_prefix(std::string_view text, Counted counted) {
  if (counted == Counted::bytes && text.ends_with('B')) text.remove_suffix(1);
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.text == text) return prefix;
  }
  return exponent(text);
}

std::string generic_problem() {
  return "is not a whole number below 2^63, as 4096, 1e6, 64k (64000) or 64Ki (65536)";
}

}  // namespace

std::optional<std::int64_t> read_count(std::string_view text, Counted counted) {
  const std::optional<Digits> digits = read_digits(text);
  if (!digits) return std::nullopt;
  const std::optional<Prefix> prefix = find_prefix(digits->rest, counted);
  if (!prefix) return std::nullopt;
  std::int64_t value = digits->value;
  for (int i = 0; i < prefix->twos; ++i) {
    if (!multiply(value, 2)) return std::nullopt;
  }
  for (int i = digits->decimals; i < prefix->tens; ++i) {
    if (!multiply(value, 10)) return std::nullopt;
  }
  for (int i = prefix->tens; i < digits->decimals; ++i) {
    if (value % 10 != 0) return std::nullopt;
    value /= 10;
  }
  return value;
}

std::string count_problem(std::string_view text, Counted counted) {
  const std::optional<Digits> digits = read_digits(text);
  if (!digits || digits->rest.empty()) return generic_problem();
  const std::string_view number = text.substr(0, text.size() - digits->rest.size());
  std::string rest = lower(digits->rest);
  const bool has_byte = rest.size() > 1 && rest.ends_with('b');
  if (has_byte) rest.pop_back();
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.text.empty() || lower(prefix.text) != rest) continue;
    if (counted == Counted::things && has_byte) {
      return fmt::format("is a number of bytes, and elements are counted here; write {}{}", number,
                         prefix.text);
    }
    if (find_prefix(digits->rest, counted)) break;  // well written, but too large or not whole
    if (prefix.text.ends_with('i')) return fmt::format("is not a number; write {}{}", number, prefix.text);
    return fmt::format("is not a number; write {0}{1} (powers of 1000) or {0}{2}i (powers of 1024)", number,
                       prefix.text, static_cast<char>(std::toupper(prefix.text.front())));
  }
  return generic_problem();
}

std::optional<Nanoseconds> read_duration(std::string_view text, Nanoseconds unit) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (name.empty()) return unit * value;
  for (const TimeUnit& known : kTypedTimeUnits) {
    if (known.text == name) return known.size * value;
  }
  return std::nullopt;
}

}  // namespace jitterscope
