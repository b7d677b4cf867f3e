#include "device/compiler/cuda_headers.hpp"

#include <algorithm>
#include <filesystem>

#include "base/shared_library.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

// Beside a folder of libraries: of a toolkit or of a wheel of its own, and of other wheels (cuda_runtime has
// the headers, cuda_nvrtc the library, and cuda_cccl what is in cuda/std).
void add_include_folders(std::vector<fs::path>& folders, const fs::path& libraries) {
  std::error_code error;
  folders.push_back(libraries.parent_path() / "include");
  if (libraries.parent_path().parent_path().filename() != "nvidia") return;
  for (const auto& wheel : fs::directory_iterator(libraries.parent_path().parent_path(), error))
    folders.push_back(wheel.path() / "include");
}

}  // namespace

std::vector<std::string> cuda_header_folders(const std::string& library) {
  std::error_code error;
  std::vector<fs::path> candidates;
  const fs::path real = fs::canonical(library, error);
  if (!error) add_include_folders(candidates, real.parent_path());
  for (const std::string& folder : nvidia_library_folders())
    add_include_folders(candidates, fs::path(folder));
  candidates.emplace_back("/usr/include");
  std::vector<std::string> found;
  const auto add_first = [&](const std::vector<std::string>& below, const char* header) {
    for (const fs::path& candidate : candidates) {
      for (const std::string& part : below) {
        const fs::path folder = part.empty() ? candidate : candidate / part;
        if (!fs::exists(folder / header, error)) continue;
        if (std::ranges::find(found, folder.string()) == found.end()) found.push_back(folder.string());
        return;
      }
    }
  };
  add_first({""}, "cuda_fp16.h");
  add_first({"", "cccl"}, "cuda/std/cstdint");  // below cccl since CUDA 13
  return found;
}

}  // namespace jitterscope
