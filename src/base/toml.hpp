// toml++ 3.3 as it can be trusted with any text.
#pragma once

namespace jitterscope {

/// Thrown where toml++ 3.3 would assert, or with NDEBUG assume, what malformed text breaks: `a = [}]`.
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
