// toml++ 3.3 as it can be trusted with any text.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope::physics {

/// Thrown where toml++ would assert, or with NDEBUG assume, what malformed text breaks: `a = [}]`.
struct MalformedToml {};

constexpr void require_toml(bool condition) {
  if (!condition) throw MalformedToml();
}

}  // namespace jitterscope::physics

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) jitterscope::physics::require_toml(static_cast<bool>(condition))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace jitterscope::physics {

/// Throws UsageError with file and line. Refuses what no preset needs and toml++ runs into assertions or
/// undefined behaviour on: table names that are none, and characters beyond ASCII outside comments.
toml::table parse_toml(std::string_view text, const std::string& file);

}  // namespace jitterscope::physics
