// The Pythons that the tool starts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace jitterscope::cli {

/// $JITTERSCOPE_PYTHON, else python3.
inline std::string interpreter() {
  const char* named = std::getenv("JITTERSCOPE_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

/// Where pictures may be drawn: the above, those on PATH, and the environment that scripts/setup makes beside
/// the folder that this program was built in (build/python-tools, of build/release/bin).
inline std::vector<std::string> drawing_interpreters() {
  std::vector<std::string> pythons = {interpreter()};
  for (const char* name : {"python3", "python"}) {
    if (name != pythons.front()) pythons.emplace_back(name);
  }
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path builds = program.parent_path().parent_path().parent_path();
  const std::filesystem::path tools = builds / "python-tools" / "bin" / "python";
  if (std::filesystem::exists(tools, ignored)) pythons.push_back(tools.string());
  return pythons;
}

}  // namespace jitterscope::cli
