// Names of kernels from different tracing tools, so that they can be compared.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope {

/// Demangled where the tool left it mangled (kineto does with the longest names), without spaces; memsets and
/// copies by one word each.
std::string kernel_identity(std::string_view name);

}  // namespace jitterscope
