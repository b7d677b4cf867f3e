// What an operation asks of a virtual GPU, from its shape alone.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"
#include "physics/machine.hpp"

namespace jitterscope::virtual_gpu {

/// `buffers` follow operation.operands().
physics::KernelWork kernel_work(const physics::Parameters& parameters, const Operation& operation,
                                const std::vector<physics::Buffer>& buffers, DataKind data);

}  // namespace jitterscope::virtual_gpu
