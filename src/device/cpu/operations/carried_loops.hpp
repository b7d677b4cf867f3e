// CPU loops for some of the kernels that the program carries: the same arguments, loops in place of threads.
#pragma once

#include <memory>

#include "device/cpu/operations/cpu_operation.hpp"

namespace jitterscope::cpu {

/// True if the CPU has loops for this carried kernel.
bool has_carried_loops(const CudaKernel& kernel);

std::unique_ptr<PreparedOperation> prepare_carried_loops(const Operation& operation,
                                                         const InputTable& inputs);

}  // namespace jitterscope::cpu
