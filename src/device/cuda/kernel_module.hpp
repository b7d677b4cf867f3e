// Loading jitterscope's own kernels from their embedded binaries.
#pragma once

#include <cuda.h>

namespace jitterscope::cuda {

class Context;

/// Throws MissingError where this GPU or its driver cannot run the binary, with what can be done.
CUmodule load_module(const Context& context, const void* binary);

/// The kernel is loaded when this returns, and not at its first launch.
CUfunction find_function(CUmodule module, const char* name);

}  // namespace jitterscope::cuda
