// NVIDIA's compiler of CUDA sources as a library, opened when a kernel of the user's is asked for.
#pragma once

#include <cstdint>
#include <string>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

struct CompileRequest {
  std::string source;          ///< the text
  std::string file;            ///< its name in messages; #include "…" looks in its folder
  std::string kernel;          ///< as C++ names it: scale, ns::scale, scale<float>
  int architecture = 0;        ///< 90 for compute capability 9.0
  std::int64_t registers = 0;  ///< most for each thread; 0: as the compiler chooses
  bool fast_math = false;
  bool operator<(const CompileRequest&) const;
};

struct CompiledKernel {
  std::string image;   ///< machine code, or PTX where the compiler is older than the GPU
  std::string symbol;  ///< the kernel's name in it
};

/// Throws UsageError with the compiler's errors and their lines, or with the kernels that there are where
/// this one is none of them; MissingError where there is no compiler, or one that does not know such a GPU.
CompiledKernel compile_kernel(const CompileRequest& request);

/// As found, for `doctor` and the result; never throws.
LibraryInfo nvrtc_library();

}  // namespace jitterscope::cuda
