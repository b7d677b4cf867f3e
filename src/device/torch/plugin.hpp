// The plug-in for PyTorch, opened when the first operator is prepared.
#pragma once

#include <filesystem>
#include <vector>

#include "jitterscope/device.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch {

/// Where libjitterscope_torch.so is looked for, first match first: the file $JITTERSCOPE_TORCH_PLUGIN, and
/// nothing else where that is set; else beside the executable, then in ../lib/jitterscope.
std::vector<std::filesystem::path> plugin_files();

/// Opened once and kept. Throws MissingError that says what is wrong with it, or how to build it.
const JitterscopeTorchPlugin& plugin();

/// As the file says it was built, without opening PyTorch, which takes a second and a gigabyte.
LibraryInfo torch_library();

}  // namespace jitterscope::torch
