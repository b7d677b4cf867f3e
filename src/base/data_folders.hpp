// Where files that come with the tool are looked for: models, presets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// A kind of file: "models", "JITTERSCOPE_MODELS", ".json".
struct DataFiles {
  std::string folder, variable, extension;

  /// First match first: the folders of $variable (colon-separated), then folder, ../folder and
  /// ../share/jitterscope/folder beside the executable, then the source tree that it was built from. Only
  /// folders that exist.
  std::vector<std::filesystem::path> folders() const;
  /// Of all files in folders(), sorted: file names without the extension.
  std::vector<std::string> names() const;
  /// Nothing where no folder has it.
  std::optional<std::filesystem::path> find(std::string_view name) const;
};

}  // namespace jitterscope
