// The keys of a preset file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "physics/parameters.hpp"
#include "physics/preset_toml.hpp"

namespace jitterscope::physics {

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
