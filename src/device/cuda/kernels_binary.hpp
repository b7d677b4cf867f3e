// The fat binary that nvcc made of kernels.cu, embedded at build time.
#pragma once

#include <cstddef>
#include <span>

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): as the assembler has them
extern const std::byte jitterscope_kernels_begin[];
extern const std::byte jitterscope_kernels_end[];
// NOLINTEND(readability-identifier-naming)
}

namespace jitterscope::cuda {

inline std::span<const std::byte> kernels_binary() {
  return {jitterscope_kernels_begin, jitterscope_kernels_end};
}

}  // namespace jitterscope::cuda
