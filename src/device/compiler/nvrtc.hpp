// NVRTC, NVIDIA's library that compiles CUDA sources, opened when a user's kernel is prepared.
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
  std::string source;
  std::string file;                     ///< name in messages; #include "…" looks in its folder
  std::string kernel;                   ///< as C++ names it: scale, ns::scale, scale<float>
  int architecture = 0;                 ///< 90 for compute capability 9.0
  std::int64_t older_architecture = 0;  ///< PTX for it in place of machine code; 0: none
  std::int64_t registers = 0;           ///< most per thread; 0: the compiler chooses
  bool fast_math = false;
  std::int64_t optimize = kFullOptimization;  ///< 0 to 3
  /// __launch_bounds__(bound_threads, min_blocks) for all kernels in the source; 0: their own.
  std::int64_t bound_threads = 0, min_blocks = 0;
  bool operator<(const CompileRequest&) const;
};

struct CompiledKernel {
  std::string image;   ///< machine code; PTX if it was asked for or the compiler is older than the GPU
  std::string symbol;  ///< the kernel's name in it
  /// From the compiler, for machine code: "8 bytes spill stores, 8 bytes spill loads"; empty for PTX.
  std::string spills = {};
  std::vector<std::size_t> parameter_sizes = {};  ///< in bytes
};

/// Throws UsageError with the compiler's errors and their lines, with the source's kernels if it lacks this
/// one, or with the architectures that the compiler knows if it lacks the older one; MissingError if there is
/// no compiler, or none that knows such a GPU.
CompiledKernel compile_kernel(const CompileRequest& request);

/// The library that was found, for `doctor` and the result. Never throws.
LibraryInfo nvrtc_library();

/// Compiled once in a process and in all processes of a command: compiling takes a third of a second, a study
/// runs twenty kernels in each of five processes, and fresh data prepares a kernel thousands of times. Throws
/// as compile_kernel.
const CompiledKernel& compiled_kernel(const CompileRequest& request);

/// Returns a kernel of exactly this request from the folder; nullopt if there is none or it is damaged.
std::optional<CompiledKernel> find_kernel(const std::filesystem::path& folder, const CompileRequest& request);
/// For later processes. If it cannot be written, they compile it again.
void leave_kernel(const std::filesystem::path& folder, const CompileRequest& request,
                  const CompiledKernel& kernel);

}  // namespace jitterscope
