// The keys of presets, and the TOML that they may use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/toml.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Throws UsageError with file and line. Refuses malformed table names, and characters beyond ASCII outside
/// comments: no preset needs them, and toml++ fails assertions or has undefined behaviour on them.
toml::table parse_toml(std::string_view text, const std::string& file);

struct Key {
  std::string path;      ///< "table.key"
  std::string expected;  ///< in words
  /// Sets the member; returns the node that is not as expected, or null.
  std::function<const toml::node*(const toml::node&)> read;

  std::string_view table() const { return std::string_view(path).substr(0, path.find('.')); }
  std::string_view name() const { return std::string_view(path).substr(path.find('.') + 1); }
};

/// Returns every key, those of one table together. They write to `parameters`.
std::vector<Key> preset_keys(Parameters& parameters);

/// The tables of a file that describe a cluster.
inline constexpr std::string_view kClusterTables[] = {"cluster", "link", "straggler"};
bool describes_cluster(const toml::table& document);

/// Reads them: what differs from the base's cluster, if that has one. Links replace the base's, stragglers
/// are added to them. Throws UsageError with file, line, key and what is expected.
Cluster read_cluster(const toml::table& document, const std::string& file,
                     const std::optional<Cluster>& base);

/// Returns a problem between values that no single key shows; else empty.
std::string contradiction(const Parameters& parameters);

}  // namespace jitterscope::physics
