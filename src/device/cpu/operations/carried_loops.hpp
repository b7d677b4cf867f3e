// Kernels that the program carries and whose patterns a CPU runs as well: the same arguments, loops instead
// of threads.
#pragma once

#include <memory>

#include "device/cpu/operations/cpu_operation.hpp"

namespace jitterscope::cpu {

/// Whether the CPU has loops for it: a source that the program carries, and one of its kernels.
bool has_carried_loops(const CudaKernel& kernel);

std::unique_ptr<PreparedOperation> prepare_carried_loops(const Operation& operation,
                                                         const InputTable& inputs);

}  // namespace jitterscope::cpu
