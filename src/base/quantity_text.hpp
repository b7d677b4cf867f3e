// Numbers as text for people: a fitting unit, and no more digits than the interval supports. UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Shown for a value that is absent or not finite.
inline constexpr std::string_view kAbsent = "–";

/// Returns "127.9 µs". `precision` is half the interval over the value: the last digit shown is the first
/// that the interval touches. An infinite precision gives three to four digits.
std::string time_text(Nanoseconds time, double precision = 0.005);
/// Returns "127.8–128.1 µs", both ends in one unit; "128.1 µs" if they look the same.
std::string time_range_text(Nanoseconds low, Nanoseconds high, double precision = 0.005);
/// "4.35 ± 0.05 µs"
std::string time_with_error_text(Nanoseconds time, Nanoseconds error);
/// For waiting times: "4.1 s", "2 min 5 s", "1 h 2 min".
std::string duration_text(Nanoseconds duration);

/// Returns "1 round", "6 rounds" or "6 launches", for a noun whose plural ends with s.
std::string counted(std::int64_t count, std::string_view noun);

/// "795 TFLOP/s", "4.31 TB/s": decimal prefixes, three digits.
std::string rate_text(double per_second, std::string_view unit);
/// "1716 MHz"
std::string clock_text(Hertz clock);
/// "700 W"
std::string power_text(Watts power);
/// "64 KiB", "1.5 MiB": binary prefixes.
std::string bytes_text(Bytes bytes);
/// "0.1 %": two digits.
std::string percent_text(double fraction);
/// Writes a number with these decimals. One that they show as zero has no minus: "-0.00" is no number.
std::string fixed_text(double value, int decimals);
/// The same with a sign before it; "+0.00" for zero.
std::string signed_text(double value, int decimals);

/// From this factor on in either direction, a difference is said as a factor: a percentage says little there.
inline constexpr double kSaidAsFactor = 2.0;
/// Says a difference everywhere in the same way, by the later value over the earlier one, less 1: 0.141 is
/// "+14.1 %", -0.0052 is "-0.52 %", 13.4 is "14.4 times", -0.93 is "1/14.3".
std::string change_text(double change);
/// The same for times in a sentence: "+14.1 %", "14.4 times as long", "1/14.3 of the time".
std::string time_change_text(double change);

// Numbers as people type them: 64k, 1.5M, 64Ki, 1GiB, 1e6, 500ms.

/// The things that a whole number counts. Bytes may end with B: 1GiB or 1GB.
enum class Counted { things, bytes };

/// After the digits, k, M, G and T are powers of 1000; Ki, Mi, Gi and Ti of 1024. Returns nullopt if the text
/// is not a whole number, is negative, or exceeds int64.
std::optional<std::int64_t> read_count(std::string_view text, Counted counted = Counted::things);

/// Returns why read_count refuses it and what to write: "is not a whole number, as …".
std::string count_problem(std::string_view text, Counted counted = Counted::things);

/// Reads "2s", "500ms", "2m", "1.5h"; a plain number is in `unit`. nullopt if it is no number, or negative.
std::optional<Nanoseconds> read_duration(std::string_view text, Nanoseconds unit);

}  // namespace jitterscope
