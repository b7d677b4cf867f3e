// Memory of other processes' GPUs, reached over the links between them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Returns in few words over what this GPU reaches that of a UUID; empty if it is not known.
using WayTo = std::function<std::string(const std::string& uuid)>;

/// As Device::open_to_peers says. `uuid` is this GPU's, which the ranks tell each other. Handles of memory
/// pass through Ranks::exchange (cuIpcGetMemHandle), so all ranks must be processes of one machine. Both ways
/// take a second stream: make all other comparisons before.
std::unique_ptr<PeerMemory> open_gpu_to_peers(const Context& context, Ranks& ranks, Bytes size,
                                              const std::string& uuid, const WayTo& way_to);

}  // namespace jitterscope::cuda
