// The tables and keys of a preset file.
#pragma once

#include "physics/parameters.hpp"
#include "physics/preset_reader.hpp"

namespace jitterscope::physics {

void read_keys(PresetReader& reader, Parameters& parameters);

/// What no single key shows: values that contradict each other.
void check_preset(const Parameters& parameters, const std::string& file);

/// Refuses what no preset needs and toml++ 3.3 does not survive: control characters, and characters beyond
/// ASCII outside comments.
void check_characters(std::string_view text, const std::string& file);

/// As read_preset, of a text that is in no file.
Parameters parse_preset(std::string_view text, const std::string& file);

}  // namespace jitterscope::physics
