#include "device/kernel_source.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/names.hpp"
#include "device/carried_kernels.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
std::string kernel_source(const std::string& file) {
  std::vector<std::string> names;
  for (const CarriedKernel& carried : carried_kernels()) {
    if (carried.name == file) return carried.text;
    names.emplace_back(carried.name);
  }
  if (file.starts_with('@')) {
    throw UsageError(
        fmt::format("no kernel source {} is carried by the program{}; a file's name begins otherwise",
                    in_quotes(file), suggestion(file, names)));
  }
  std::error_code ignored;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, ignored)) {
    throw UsageError(
        fmt::format("{} cannot be read: no CUDA source file is there (the path is relative to the "
                    "folder that jitterscope is called in)",
                    file));
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace jitterscope
