// Presets as tables, whatever the text is.
#pragma once

#include <string>
#include <string_view>

#include "base/toml.hpp"

namespace jitterscope::physics {

/// Throws UsageError with file and line. Refuses what no preset needs and toml++ runs into assertions or
/// undefined behaviour on: table names that are none, and characters beyond ASCII outside comments.
toml::table parse_toml(std::string_view text, const std::string& file);

}  // namespace jitterscope::physics
