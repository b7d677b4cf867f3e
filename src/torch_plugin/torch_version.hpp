// Differences between the versions of PyTorch that the plug-in is built with: 1.13 to 2.11.
#pragma once

#include <torch/version.h>

#define JITTERSCOPE_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// Private pools in CUDA's caching allocator, as beginAllocateToPool takes them.
#if defined(JITTERSCOPE_TORCH_CUDA) && JITTERSCOPE_TORCH_AT_LEAST(2, 2)
#define JITTERSCOPE_TORCH_POOLS 1
#else
#define JITTERSCOPE_TORCH_POOLS 0
#endif
