// Ranks tell each other their devices before they measure at the same time.
#pragma once

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Throws UsageError, naming the other rank, if one has the same GPU: both would measure each other, and NCCL
/// refuses such ranks. All ranks must call it at the same place.
void require_device_of_its_own(Ranks& ranks, const DeviceDescription& device);

}  // namespace jitterscope
