// Numbers as people type them: 64k, 1.5M, 64Ki, 1GiB, 1e6, 500ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// What a whole number counts: bytes may have a B behind them, 1GiB or 1GB.
enum class Counted { things, bytes };

/// Behind the digits k, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024. Nothing where it is no
/// whole number that is not negative, or passes int64.
std::optional<std::int64_t> read_count(std::string_view text, Counted counted = Counted::things);

/// Why read_count does not read it and what to write: "is not a whole number, as …".
std::string count_problem(std::string_view text, Counted counted = Counted::things);

/// "2s", "500ms", "2m", "1.5h"; a number alone is in `unit`. Nothing where it is none, or negative.
std::optional<Nanoseconds> read_duration(std::string_view text, Nanoseconds unit);

}  // namespace jitterscope
