// Tells in which parameters two operations of one kind differ, by their texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace jitterscope {

struct UnlikeParameter {
  std::string name, first, second;  ///< a value is empty where the operation leaves the parameter out
  std::int64_t operations = 1;      ///< number of pairs of operations that have this change

  bool is_same_change(const UnlikeParameter& other) const {
    return name == other.name && first == other.first && second == other.second;
  }
  /// Returns "n 2, then 3", with another name for the parameter.
  std::string text(const std::string& shown_name) const;
};

/// nullopt if the kinds differ, or if a text is no list of NAME=VALUE.
std::optional<std::vector<UnlikeParameter>> unlike_parameters(const std::string& first,
                                                              const std::string& second);

/// Returns the parameters in which two operations of one kind differ, such as "n=2" and "n=3"; the whole
/// texts if kinds differ, or if a parameter has commas of its own.
std::pair<std::string, std::string> differing_parameters(const std::string& first, const std::string& second);

}  // namespace jitterscope
