// Writes JSON with this tool's rules for numbers, units and line breaks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Writes objects with one key per line and arrays of plain values on one line, with a final line break.
/// Numbers read back exactly. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& document);

/// Adds a number in SI base units. Omits the key if the number is not finite.
void put(Json& object, std::string_view key, double value);
void put(Json& object, std::string_view key, Nanoseconds value);  ///< in seconds
void put(Json& object, std::string_view key, Hertz value);
void put(Json& object, std::string_view key, Watts value);
void put(Json& object, std::string_view key, Joules value);
void put(Json& object, std::string_view key, Celsius value);
void put(Json& object, std::string_view key, Cycles value);
void put(Json& object, std::string_view key, Bytes value);
/// Omits the key if the text is empty.
void put(Json& object, std::string_view key, std::string_view text);
template <class Value>
void put(Json& object, std::string_view key, const std::optional<Value>& value) {
  if (value) put(object, key, *value);
}
/// Adds a list of times in seconds, without the values that are not finite.
void put_seconds(Json& object, std::string_view key, std::span<const Nanoseconds> values);

// Times are in seconds in files and in nanoseconds in memory.

/// Division rounds once: 127900 ns is written as 0.0001279. Multiplying by 1e-9 would give more digits.
inline double in_seconds(Nanoseconds time) { return time.value() / 1e9; }

/// Returns a time for which in_seconds gives this number again, if one exists: 0.0001279 gives 127900 ns.
Nanoseconds from_seconds(double seconds);

/// Rounds a derived value to six digits. A time in memory may have more digits than in a file, so a value
/// computed from it would otherwise change in its last digits when a record is read and written again.
double six_digits(double value);

}  // namespace jitterscope
