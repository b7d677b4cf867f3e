#include "base/data_folders.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidate_folders(const DataFiles& files) {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv(files.variable.c_str())) {
    std::istringstream entries(list);
    for (std::string folder; std::getline(entries, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = executable.parent_path();
    folders.push_back(folder / files.folder);
    folders.push_back(folder.parent_path() / files.folder);
    folders.push_back(folder.parent_path() / "share/jitterscope" / files.folder);
  }
#ifdef JITTERSCOPE_SOURCE_FOLDER
  folders.push_back(fs::path(JITTERSCOPE_SOURCE_FOLDER) / files.folder);
#endif
  return folders;
}

}  // namespace

std::vector<fs::path> DataFiles::folders() const {
  std::vector<fs::path> existing;
  for (const fs::path& candidate : candidate_folders(*this)) {
    std::error_code ignored;
    const bool known = std::find(existing.begin(), existing.end(), candidate) != existing.end();
    if (!known && fs::is_directory(candidate, ignored)) existing.push_back(candidate);
  }
  return existing;
}

std::vector<std::string> DataFiles::names() const {
  std::set<std::string> names;
  for (const fs::path& searched : folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(searched, error)) {
      if (entry.path().extension() == extension) names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::optional<fs::path> DataFiles::find(std::string_view name) const {
  // A path is no name: it must not lead out of the folders.
  if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  for (const fs::path& searched : folders()) {
    const fs::path file = searched / (std::string(name) + extension);
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

}  // namespace jitterscope
