// Includes toml++ 3.3 such that malformed text throws instead of aborting.
#pragma once

namespace jitterscope {

/// Thrown where toml++ 3.3 would assert (with NDEBUG: rely on) a condition that malformed text breaks: `a =
/// [}]`.
struct MalformedToml {};

constexpr void require_toml(bool condition) {
  if (!condition) throw MalformedToml();
}

}  // namespace jitterscope

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) jitterscope::require_toml(static_cast<bool>(condition))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
