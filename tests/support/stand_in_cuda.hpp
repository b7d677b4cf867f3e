// What the CUDA driver without a GPU answers.
#pragma once

#include <cstdint>

namespace jitterscope::stand_in {

/// What a launch may name: a function of a module, and a kernel of a library, which is no function.
inline constexpr std::uintptr_t kFunction = 0x1000, kKernel = 0x2000;
/// From here on a handle is a pointer to its name: a kernel's begins with k, other names are functions'.
inline constexpr std::uintptr_t kNamed = 0x10000;
inline constexpr char kFunctionName[] = "function_of_a_module", kKernelName[] = "kernel_of_a_library";

}  // namespace jitterscope::stand_in
