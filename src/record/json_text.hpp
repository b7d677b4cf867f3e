// JSON with this tool's rules for numbers; every document it writes goes through here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Keys keep the order in which they were put.
using Json = nlohmann::ordered_json;

/// Objects one key per line; arrays of plain values on one line. Ends with a line break. Numbers read back as
/// they were; what is not UTF-8 becomes U+FFFD.
std::string json_text(const Json& document);

/// Puts a number, in SI base units; leaves the key out where the number is not finite.
void put(Json& object, std::string_view key, double value);
void put(Json& object, std::string_view key, Nanoseconds value);  ///< in seconds
void put(Json& object, std::string_view key, Hertz value);
void put(Json& object, std::string_view key, Watts value);
void put(Json& object, std::string_view key, Joules value);
void put(Json& object, std::string_view key, Celsius value);
void put(Json& object, std::string_view key, Cycles value);
void put(Json& object, std::string_view key, Bytes value);
/// Leaves the key out where the text is empty.
void put(Json& object, std::string_view key, std::string_view text);
template <class Value>
void put(Json& object, std::string_view key, const std::optional<Value>& value) {
  if (value) put(object, key, *value);
}
/// In seconds; values that are not finite are left out.
void put_seconds(Json& object, std::string_view key, std::span<const Nanoseconds> values);

// Times in files are seconds; in memory they are nanoseconds.

/// Division rounds once, so that 127900 ns is written as 0.0001279; multiplying by 1e-9 would not.
inline double in_seconds(Nanoseconds time) { return time.value() / 1e9; }

/// A time of which in_seconds gives this number again, where there is one: 0.0001279 is 127900 ns.
Nanoseconds from_seconds(double seconds);

/// With six digits, as what follows from other numbers is written: a time has a little more in memory than in
/// a file, and what is computed from it would otherwise change in its last digits when it is read and
/// written.
double six_digits(double value);

}  // namespace jitterscope
