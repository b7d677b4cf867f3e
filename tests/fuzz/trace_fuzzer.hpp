#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/json.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

/// Checks a trace. Of one that ends early, what is closed has nothing open, and is read no worse than any
/// other file.
template <class Check>
int fuzz_trace(const Check& check, const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    try {
      check(text);
    } catch (const EarlyEnd& end) {
      if (closed_json(end.closed)) std::abort();
      check(end.closed);
    }
  } catch (const UsageError&) {
  }
  return 0;
}

}  // namespace jitterscope
