#include "base/number_text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace jitterscope {
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

// The digits of `1.50k` are 150 and two of them stand behind the point; the rest is `k`.
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
    if (find_prefix(digits->rest, counted)) break;  // well written, but too large or no whole number
    if (prefix.text.ends_with('i')) return fmt::format("is no number; write {}{}", number, prefix.text);
    return fmt::format("is no number; write {0}{1} (powers of 1000) or {0}{2}i (powers of 1024)", number,
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
