// Reads presets: TOML files with a table for each struct of parameters.hpp, and the unit in each key's name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Reads a preset file. Throws UsageError with file, line, key and the expected value; for an unknown key,
/// with the nearest.
Parameters read_preset(const std::filesystem::path& file);
/// Takes a shipped name, or a path (with '/' or ending in .toml).
Parameters find_preset(std::string_view name_or_path);
std::vector<std::string> preset_names();
/// As read_preset, for a text; `file` is for messages.
Parameters parse_preset(std::string_view text, const std::string& file);

}  // namespace jitterscope::physics
