// NVIDIA's compiler of CUDA sources as a library, opened when a kernel of the user's is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "operation/cuda_kernel.hpp"

namespace jitterscope {

struct CompileRequest {
  std::string source;                   ///< the text
  std::string file;                     ///< its name in messages; #include "…" looks in its folder
  std::string kernel;                   ///< as C++ names it: scale, ns::scale, scale<float>
  int architecture = 0;                 ///< 90 for compute capability 9.0
  std::int64_t older_architecture = 0;  ///< PTX for it in place of machine code; 0: none
  std::int64_t registers = 0;           ///< most for each thread; 0: as the compiler chooses
  bool fast_math = false;
  std::int64_t optimize = kFullOptimization;  ///< 0 to 3
  /// Of all kernels in the source, in place of their own: __launch_bounds__(bound_threads, min_blocks). 0: as
  /// they are.
  std::int64_t bound_threads = 0, min_blocks = 0;
  bool operator<(const CompileRequest&) const;
};

struct CompiledKernel {
  std::string image;   ///< machine code; PTX where it was asked for, or the compiler is older than the GPU
  std::string symbol;  ///< the kernel's name in it
  /// "8 bytes spill stores, 8 bytes spill loads", which the compiler says of machine code; empty of PTX.
  std::string spills = {};
  std::vector<std::size_t> parameter_sizes = {};  ///< in bytes, of each
};

/// Throws UsageError with the compiler's errors and their lines, or with the kernels that there are where
/// this one is none of them, or with the architectures that the compiler knows where the older one is none of
/// them; MissingError where there is no compiler, or one that does not know such a GPU.
CompiledKernel compile_kernel(const CompileRequest& request);

/// As found, for `doctor` and the result; never throws.
LibraryInfo nvrtc_library();

// Compiled kernels that the processes of one command share: compiling takes a third of a second each, and a
// study runs twenty kernels in each of five processes.

/// Compiled once in a process, and once in all processes of a command: compiling takes a third of a second,
/// and fresh data prepares the same kernel thousands of times. Throws as compile_kernel.
const CompiledKernel& compiled_kernel(const CompileRequest& request);

/// A kernel of exactly this request that a process left in the folder; nothing where there is none, or it is
/// damaged.
std::optional<CompiledKernel> find_kernel(const std::filesystem::path& folder, const CompileRequest& request);
/// For the processes to come. Where it cannot be written they compile it again.
void leave_kernel(const std::filesystem::path& folder, const CompileRequest& request,
                  const CompiledKernel& kernel);

}  // namespace jitterscope
