// The embedded Python program that records a network's training in PyTorch.
#pragma once

#include <span>
#include <string_view>

namespace jitterscope {

struct PythonFile {
  std::string_view name, text;
};

/// Returns the program, followed by the files that it imports, which must lie beside it.
std::span<const PythonFile> training_script();

}  // namespace jitterscope
