// What a device refuses: the same before anything is prepared, from its description, and when it prepares.
#pragma once

#include <string_view>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Throws UsageError where preparing would: a data type that the device does not compute in, operands that do
/// not fit into its free memory, or a kernel without its source, or on a CPU.
void check_can_run(const Operation& operation, const DeviceDescription& device);

/// Throws UsageError for a kernel of the user's: of a device that runs none.
void refuse_kernel(const Operation& operation, std::string_view device_id);

/// The first half of it. `further_types` are for all but products.
void require_data_type(const Operation& operation, std::string_view device_id,
                       const std::vector<DataType>& data_types,
                       const std::vector<DataType>& further_types = {});

/// The second one. `purpose` needs the memory: an operation's text, or "emptying the caches".
void require_memory(std::string_view purpose, Bytes needed, Bytes free, std::string_view device_id);

}  // namespace jitterscope
