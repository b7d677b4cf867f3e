#include "device/cpu/system_files.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace jitterscope::cpu {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool lists(const std::string& names, const std::string& name) {
  std::istringstream entries(names);
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (entry == name) return true;
  }
  return false;
}

void add_with_parents(std::vector<fs::path>& folders, const fs::path& mount, const std::string& group) {
  fs::path relative = fs::path(group).relative_path();
  while (!relative.empty()) {
    folders.push_back(mount / relative);
    relative = relative.parent_path();
  }
  folders.push_back(mount);
}

}  // namespace

std::optional<std::string> read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

std::optional<double> read_number(const fs::path& file) {
  const std::optional<std::string> line = read_line(file);
  if (!line) return std::nullopt;
  double value = 0.0;
  const std::from_chars_result result = std::from_chars(line->data(), line->data() + line->size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::map<std::string, std::string> read_pairs(const fs::path& file) {
  std::ifstream stream(file);
  std::map<std::string, std::string> pairs;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    pairs.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return pairs;
}

std::vector<fs::path> control_group_folders(const fs::path& root, const std::string& controller) {
  std::ifstream stream(root / "proc/self/cgroup");
  std::vector<fs::path> folders;
  // Lines are "hierarchy:controllers:group"; version 2 has no controllers.
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const fs::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) add_with_parents(folders, mounts, group);
    if (lists(controllers, controller)) add_with_parents(folders, mounts / controller, group);
  }
  return folders;
}

}  // namespace jitterscope::cpu
