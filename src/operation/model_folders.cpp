#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "operation/model.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidate_folders() {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv("JITTERSCOPE_MODELS")) {
    std::istringstream entries(list);
    for (std::string folder; std::getline(entries, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = executable.parent_path();
    folders.push_back(folder / "models");
    folders.push_back(folder.parent_path() / "models");
    folders.push_back(folder.parent_path() / "share/jitterscope/models");
  }
#ifdef JITTERSCOPE_SOURCE_MODELS
  folders.emplace_back(JITTERSCOPE_SOURCE_MODELS);
#endif
  return folders;
}

}  // namespace

std::vector<fs::path> models_folders() {
  std::vector<fs::path> existing;
  for (const fs::path& folder : candidate_folders()) {
    std::error_code ignored;
    const bool known = std::find(existing.begin(), existing.end(), folder) != existing.end();
    if (!known && fs::is_directory(folder, ignored)) existing.push_back(folder);
  }
  return existing;
}

std::vector<std::string> model_names() {
  std::set<std::string> names;
  for (const fs::path& folder : models_folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::optional<fs::path> find_model(std::string_view name) {
  // A path is no name: it must not lead out of the folders.
  if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  for (const fs::path& folder : models_folders()) {
    const fs::path file = folder / (std::string(name) + ".json");
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

}  // namespace jitterscope
