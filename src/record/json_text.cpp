#include "record/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace jitterscope {
namespace {

void append(std::string& text, const Json& value, std::size_t indent);

// Returns one value without line breaks.
std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_object(std::string& text, const Json& object, std::size_t indent) {
  text += '{';
  const char* separator = "\n";
  for (const auto& [key, value] : object.items()) {
    text += separator + std::string(indent + 1, ' ') + compact(Json(key)) + ": ";
    append(text, value, indent + 1);
    separator = ",\n";
  }
  text += '\n' + std::string(indent, ' ') + '}';
}

void append_array(std::string& text, const Json& array, std::size_t indent) {
  const bool plain =
      std::none_of(array.begin(), array.end(), [](const Json& v) { return v.is_structured(); });
  if (plain) {
    text += compact(array);
    return;
  }
  text += '[';
  const char* separator = "\n";
  for (const Json& value : array) {
    text += separator + std::string(indent + 1, ' ');
    append(text, value, indent + 1);
    separator = ",\n";
  }
  text += '\n' + std::string(indent, ' ') + ']';
}

void append(std::string& text, const Json& value, std::size_t indent) {
  if (value.is_object() && !value.empty()) {
    append_object(text, value, indent);
  } else if (value.is_array()) {
    append_array(text, value, indent);
  } else {
    text += compact(value);
  }
}

}  // namespace

std::string json_text(const Json& document) {
  std::string text;
  append(text, document, 0);
  return text + '\n';
}

void put(Json& object, std::string_view key, double value) {
  if (std::isfinite(value)) object[std::string(key)] = value;
}
void put(Json& object, std::string_view key, Nanoseconds value) { put(object, key, in_seconds(value)); }
void put(Json& object, std::string_view key, Hertz value) { put(object, key, value.value()); }
void put(Json& object, std::string_view key, Watts value) { put(object, key, value.value()); }
void put(Json& object, std::string_view key, Joules value) { put(object, key, value.value()); }
void put(Json& object, std::string_view key, Celsius value) { put(object, key, value.value()); }
void put(Json& object, std::string_view key, Cycles value) { put(object, key, value.value()); }
void put(Json& object, std::string_view key, Bytes value) { object[std::string(key)] = value.value(); }
void put(Json& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object[std::string(key)] = std::string(text);
}

void put_seconds(Json& object, std::string_view key, std::span<const Nanoseconds> values) {
  Json array = Json::array();
  for (const Nanoseconds value : values) {
    if (std::isfinite(value.value())) array.push_back(in_seconds(value));
  }
  object[std::string(key)] = std::move(array);
}

namespace {

// Moves the decimal point by nine places and keeps the digits. Of several times with the same seconds, this
// is the one with the fewest digits: that of a clock that counts whole nanoseconds.
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
