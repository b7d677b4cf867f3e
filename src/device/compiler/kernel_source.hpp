// The sources of kernels: files of the user's, and a few that the program carries.
#pragma once

#include <string>

namespace jitterscope {

/// The text of a file, or of what the program carries as @NAME. Throws UsageError where there is no such.
std::string kernel_source(const std::string& file);

}  // namespace jitterscope
