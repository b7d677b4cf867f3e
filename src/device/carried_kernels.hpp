// Kernel sources that the program carries, so that its examples run wherever it is installed.
#pragma once

#include <span>

namespace jitterscope {

struct CarriedKernel {
  const char* name;  ///< e.g. @saxpy
  const char* text;
};
std::span<const CarriedKernel> carried_kernels();

}  // namespace jitterscope
