// What a plug-in for PyTorch was built with, read from its file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace jitterscope::torch {

struct BuiltWith {
  std::optional<std::string> torch;  ///< its version; nothing where the file is no plug-in
  std::string cuda;                  ///< empty: without CUDA
  std::string abi;                   ///< _GLIBCXX_USE_CXX11_ABI
  unsigned interface_version = 0;
  std::string folder;  ///< of PyTorch's libraries
};
BuiltWith read_built_with(const std::filesystem::path& plugin);

/// The version of the PyTorch whose libraries lie in a folder, "of unknown version" where it does not say;
/// empty where there is none.
std::string found_torch(const std::filesystem::path& folder);

}  // namespace jitterscope::torch
