// The Python program that records a network's training in PyTorch.
#pragma once

#include <span>
#include <string_view>

namespace jitterscope {

struct PythonFile {
  std::string_view name, text;
};

/// The first is the program; it imports the others, which stand beside it.
std::span<const PythonFile> training_script();

}  // namespace jitterscope
