// Presets as tables, whatever the text is.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/toml.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Throws UsageError with file and line. Refuses what no preset needs and toml++ runs into assertions or
/// undefined behaviour on: table names that are none, and characters beyond ASCII outside comments.
toml::table parse_toml(std::string_view text, const std::string& file);

// The keys of a preset file.

struct Key {
  std::string path;      ///< "table.key"
  std::string expected;  ///< in words
  /// Into its member; returns what is not as expected, or null.
  std::function<const toml::node*(const toml::node&)> read;

  std::string_view table() const { return std::string_view(path).substr(0, path.find('.')); }
  std::string_view name() const { return std::string_view(path).substr(path.find('.') + 1); }
};

/// Every key, those of one table together. They write to the parameters that are given.
std::vector<Key> preset_keys(Parameters& parameters);

/// What no single key shows: values that contradict each other, or empty.
std::string contradiction(const Parameters& parameters);

}  // namespace jitterscope::physics
