#include "device/torch/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "device/torch/built_with.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::torch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "libjitterscope_torch.so";
constexpr const char* kHowToBuild =
    "build it with scripts/build-torch-plugin (docs/guide/pytorch-operators.md)";

std::optional<fs::path> find_file(std::string& problem) {
  for (const fs::path& file : plugin_files()) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
    problem = fmt::format("the plug-in for PyTorch is not there ({}): {}", file.string(), kHowToBuild);
  }
  return std::nullopt;
}

std::string other_interface(const fs::path& file, unsigned version) {
  return fmt::format("{} was built for version {} of the plug-in's interface and this jitterscope has {}: {}",
                     file.string(), version, JITTERSCOPE_TORCH_INTERFACE_VERSION, kHowToBuild);
}

// The loader names a symbol or a file; a user has to know which PyTorch is meant.
std::string loader_problem(const fs::path& file, const std::string& answer) {
  const BuiltWith built = read_built_with(file);
  if (!built.torch)
    return fmt::format("{} is no plug-in of jitterscope for PyTorch ({})", file.string(), answer);
  const std::string found = found_torch(built.folder);
  const std::string with =
      fmt::format("it was built with PyTorch {} (C++ ABI {}) in {}", *built.torch, built.abi, built.folder);
  const bool is_symbol = answer.find("undefined symbol") != std::string::npos;
  const std::string there = found.empty() ? "which is not there now" : "where PyTorch " + found + " is now";
  return fmt::format("{} cannot be opened: {}, {}{} ({}): {}", file.string(), with, there,
                     is_symbol ? ", and what it needs is not in the PyTorch that is loaded" : "", answer,
                     kHowToBuild);
}

struct Opened {
  const JitterscopeTorchPlugin* plugin = nullptr;
  std::string problem;
};

Opened open_plugin(const fs::path& file) {
  Opened opened;
  // RTLD_LOCAL: PyTorch brings libraries of its own, whose symbols must not take the place of ours.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* answer = dlerror();
    opened.problem = loader_problem(file, answer == nullptr ? "no reason given" : answer);
    return opened;
  }
  const auto entry =
      reinterpret_cast<JitterscopeTorchPluginFunction>(dlsym(handle, JITTERSCOPE_TORCH_SYMBOL));
  if (entry == nullptr) {
    opened.problem =
        fmt::format("{} is no plug-in of jitterscope: it has no {}", file.string(), JITTERSCOPE_TORCH_SYMBOL);
    return opened;
  }
  const JitterscopeTorchPlugin* const plugin = entry();
  if (plugin->interface_version != JITTERSCOPE_TORCH_INTERFACE_VERSION) {
    opened.problem = other_interface(file, plugin->interface_version);
  } else {
    opened.plugin = plugin;
  }
  return opened;
}

fs::path executable_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

std::vector<fs::path> plugin_files() {
  if (const char* file = std::getenv("JITTERSCOPE_TORCH_PLUGIN")) return {fs::path(file)};
  const fs::path folder = executable_folder();
  return {folder / kFileName, folder.parent_path() / "lib" / "jitterscope" / kFileName};
}

const JitterscopeTorchPlugin& plugin() {
  // Never closed, as PyTorch keeps threads. One that is not there may be built while the process lives.
  static std::mutex mutex;
  static std::map<fs::path, const JitterscopeTorchPlugin*> known;
  const std::lock_guard lock(mutex);
  std::string problem;
  const auto file = find_file(problem);
  if (!file) throw MissingError(problem);
  const JitterscopeTorchPlugin*& plugin = known[*file];
  if (plugin == nullptr) {
    const Opened opened = open_plugin(*file);
    if (opened.plugin == nullptr) throw MissingError(opened.problem);
    plugin = opened.plugin;
  }
  return *plugin;
}

LibraryInfo torch_library() {
  LibraryInfo info{.name = "torch", .version = "", .path = "", .problem = ""};
  const auto file = find_file(info.problem);
  if (!file) return info;
  info.path = file->string();
  info.problem.clear();
  const BuiltWith built = read_built_with(*file);
  if (!built.torch) {
    info.problem = fmt::format("{} is no plug-in of jitterscope for PyTorch", info.path);
  } else if (built.interface_version != JITTERSCOPE_TORCH_INTERFACE_VERSION) {
    info.problem = other_interface(*file, built.interface_version);
  } else if (found_torch(built.folder).empty()) {
    info.problem = fmt::format("it was built with PyTorch {} in {}, which is not there now: {}", *built.torch,
                               built.folder, kHowToBuild);
  } else {
    info.version = *built.torch + (built.cuda.empty() ? " (cpu)" : " (CUDA " + built.cuda + ")");
  }
  return info;
}

}  // namespace jitterscope::torch
