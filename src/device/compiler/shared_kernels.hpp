// Compiled kernels that the processes of one command share: compiling takes a third of a second each, and a
// study runs twenty kernels in each of five processes.
#pragma once

#include <filesystem>
#include <optional>

#include "device/compiler/nvrtc.hpp"

namespace jitterscope {

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
