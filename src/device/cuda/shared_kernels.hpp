// Compiled kernels that the processes of one command share: compiling takes a third of a second each, and a
// study runs twenty kernels in each of five processes.
#pragma once

#include <filesystem>
#include <optional>

#include "device/cuda/nvrtc.hpp"

namespace jitterscope::cuda {

/// A kernel of exactly this request that a process left in the folder; nothing where there is none, or it is
/// damaged.
std::optional<CompiledKernel> find_kernel(const std::filesystem::path& folder, const CompileRequest& request);
/// For the processes to come. Where it cannot be written they compile it again.
void leave_kernel(const std::filesystem::path& folder, const CompileRequest& request,
                  const CompiledKernel& kernel);

}  // namespace jitterscope::cuda
