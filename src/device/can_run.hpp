// What a device's description tells of an operation before anything is prepared.
#pragma once

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Throws UsageError where preparing would: a data type that the device does not compute in, or operands that
/// do not fit into its free memory.
void check_can_run(const Operation& operation, const DeviceDescription& device);

}  // namespace jitterscope
