#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0')
    return map->l_name;
  return name;
}

void add_existing(std::vector<std::string>& folders, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  const std::string text = folder.string();
  if (std::find(folders.begin(), folders.end(), text) == folders.end()) folders.push_back(text);
}

// Adds site-packages/nvidia/*/lib of one Python installation, for each Python version in it.
void add_python_wheels(std::vector<std::string>& folders, const fs::path& prefix) {
  std::error_code error;
  for (const auto& version : fs::directory_iterator(prefix / "lib", error)) {
    if (!version.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const auto& wheel : fs::directory_iterator(version.path() / packages / "nvidia", error)) {
        add_existing(folders, wheel.path() / "lib");
      }
    }
  }
}

// Returns the installation prefix of the first python3 on PATH. Links are not resolved, because a virtual
// environment's python3 is a link out of it.
std::optional<fs::path> python_prefix() {
  const char* path = std::getenv("PATH");
  std::istringstream entries(path == nullptr ? "" : path);
  for (std::string folder; std::getline(entries, folder, ':');) {
    std::error_code ignored;
    if (!folder.empty() && fs::exists(fs::path(folder) / "python3", ignored))
      return fs::path(folder).parent_path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names,
                                                 const std::vector<std::string>& folders,
                                                 std::string* problem) {
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD))
      return SharedLibrary(handle, path_of(handle, name));
  }
  std::string first_problem;
  const auto attempt = [&](const std::string& file) -> void* {
    // RTLD_GLOBAL: cuDNN's engine libraries look for cuBLASLt and NVRTC among loaded libraries.
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const char* message = handle == nullptr ? dlerror() : nullptr;
    if (first_problem.empty() && message != nullptr) first_problem = message;
    return handle;
  };
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const fs::path file = fs::path(folder) / name;
      std::error_code ignored;
      if (!fs::exists(file, ignored)) continue;
      if (void* handle = attempt(file.string())) return SharedLibrary(handle, file.string());
    }
  }
  for (const std::string& name : names) {
    if (void* handle = attempt(name)) return SharedLibrary(handle, path_of(handle, name));
  }
  if (problem != nullptr) *problem = first_problem;
  return std::nullopt;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

std::vector<std::string> nvidia_library_folders() {
  std::vector<std::string> folders;
  if (const char* list = std::getenv("JITTERSCOPE_LIBRARY_PATH")) {
    std::istringstream entries(list);
    for (std::string folder; std::getline(entries, folder, ':');) add_existing(folders, folder);
  }
  if (const char* environment = std::getenv("VIRTUAL_ENV")) add_python_wheels(folders, environment);
  if (const auto prefix = python_prefix()) add_python_wheels(folders, *prefix);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) add_existing(folders, fs::path(home) / "lib64");
  }
  add_existing(folders, "/usr/local/cuda/lib64");
  add_existing(folders, "/usr/local/cuda/extras/CUPTI/lib64");
  return folders;
}

void fail_missing_library(std::string_view purpose, const std::string& problem, std::string_view packages) {
  throw MissingError(
      fmt::format("{}, and {}; install it (pip install {}) or name its folder in JITTERSCOPE_LIBRARY_PATH",
                  purpose, problem, packages));
}

}  // namespace jitterscope
