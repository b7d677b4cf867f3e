#include "device/torch/built_with.hpp"

#include <charconv>
#include <string_view>

#include "base/file_text.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch {
namespace {

namespace fs = std::filesystem;

// `torch=2.11.0;`
std::string value_of(std::string_view marker, std::string_view key) {
  const std::size_t begin = marker.find(key);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = marker.substr(begin + key.size());
  return std::string(rest.substr(0, rest.find(';')));
}

}  // namespace

BuiltWith read_built_with(const fs::path& plugin) {
  BuiltWith result;
  const std::string content = file_text(plugin).text;
  const std::size_t begin = content.find(JITTERSCOPE_TORCH_MARKER);
  if (begin == std::string::npos) return result;
  const std::string_view marker = content.c_str() + begin + std::string_view(JITTERSCOPE_TORCH_MARKER).size();
  result.torch = value_of(marker, "torch=");
  result.cuda = value_of(marker, "cuda=");
  result.abi = value_of(marker, "abi=");
  result.folder = value_of(marker, "folder=");
  const std::string version = value_of(marker, "interface=");
  std::from_chars(version.data(), version.data() + version.size(), result.interface_version);
  return result;
}

std::string found_torch(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "libtorch.so", ignored)) return {};
  const std::string text = file_text(folder.parent_path() / "version.py").text, key = "__version__ = '";
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return "of unknown version";
  const std::size_t end = text.find('\'', begin + key.size());
  return text.substr(begin + key.size(), end - begin - key.size());
}

}  // namespace jitterscope::torch
