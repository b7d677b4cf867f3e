// Where CUDA's own headers lie, for a compiler that brings none.
#pragma once

#include <string>
#include <vector>

namespace jitterscope {

/// Folders with cuda_fp16.h and with cuda/std, of the same toolkit as a library where it has them beside it;
/// then those of NVIDIA's wheels, $CUDA_HOME and /usr/local/cuda, and the system's. Fewer where none is
/// found.
std::vector<std::string> cuda_header_folders(const std::string& library);

}  // namespace jitterscope
