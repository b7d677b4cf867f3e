// Memory of other processes' GPUs, reached over the links between them.
#pragma once

#include <memory>

#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// As Device::open_to_peers says. Handles of memory pass through Ranks::exchange (cuIpcGetMemHandle), so all
/// ranks must be processes of one machine. Both ways take a second stream: make all other comparisons before.
std::unique_ptr<PeerMemory> open_gpu_to_peers(const Context& context, Ranks& ranks, Bytes size);

}  // namespace jitterscope::cuda
