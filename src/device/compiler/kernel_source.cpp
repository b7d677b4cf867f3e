#include "device/compiler/kernel_source.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/file_text.hpp"
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
  auto [text, problem] = file_text(file);
  if (problem) {
    throw UsageError(
        fmt::format("{} cannot be read: no CUDA source file is there (the path is relative to the "
                    "folder that jitterscope is called in)",
                    file));
  }
  return std::move(text);
}

}  // namespace jitterscope
