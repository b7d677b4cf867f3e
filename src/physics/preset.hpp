// Presets: TOML files, one table for each struct of parameters.hpp, every key with its unit in its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Reads a preset file. Throws UsageError that says file, line, key and what was expected; an unknown key is
/// an error that names the nearest.
Parameters read_preset(const std::filesystem::path& file);
/// A shipped name, or a path (anything with '/' or ending in .toml).
Parameters find_preset(std::string_view name_or_path);
std::vector<std::string> preset_names();
/// As read_preset, of a text that is in no file.
Parameters parse_preset(std::string_view text, const std::string& file);

}  // namespace jitterscope::physics
