// What an operation asks of a virtual GPU, from its shape alone.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"
#include "physics/machine.hpp"

namespace jitterscope::virtual_gpu {

/// `buffers` follow operation.operands().
physics::KernelWork kernel_work(const physics::Parameters& parameters, const Operation& operation,
                                const std::vector<physics::Buffer>& buffers, DataKind data);

/// What its product keeps the units that multiply matrices busy for at their full rate; zero where it has
/// none, or runs it on others.
Cycles tensor_cycles(const physics::Parameters& parameters, const Operation& operation);

}  // namespace jitterscope::virtual_gpu
