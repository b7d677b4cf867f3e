// What a device refuses: the same before anything is prepared, from its description, and when it prepares.
#pragma once

#include <string_view>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Whether it computes in one data type that is its own to choose; a chain's steps have theirs, and a
/// conversion has two.
bool has_type_of_its_own(const Operation&);

/// Throws UsageError where preparing would: a data type that the device does not compute in, operands that do
/// not fit into its free memory, an allocator or host memory that it does not have, a pattern or a kernel
/// without its source, or a kernel on a CPU.
void check_can_run(const Operation& operation, const DeviceDescription& device);

/// Throws UsageError for a chain that needs streams of its own, or waits: of a device without them.
void refuse_streams(const Operation& operation, std::string_view device_id);

/// Throws UsageError for a fused chain whose steps the device cannot run as one launch.
void refuse_unfusible(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can);

/// Throws UsageError for a kernel of a GPU, but for those that the program carries as loops of a CPU too.
void refuse_kernel(const Operation& operation, std::string_view device_id);

/// The first half of it. `further_types` are for all but products.
void require_data_type(const Operation& operation, std::string_view device_id,
                       const std::vector<DataType>& data_types,
                       const std::vector<DataType>& further_types = {});

/// For an allocator, or host memory of a copy, that the device does not have.
void require_means(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can);

/// The second one. `purpose` needs the memory: an operation's text, or "emptying the caches".
void require_memory(std::string_view purpose, Bytes needed, Bytes free, std::string_view device_id);

}  // namespace jitterscope
