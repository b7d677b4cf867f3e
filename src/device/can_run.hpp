// Checks whether a device can run an operation, from its description alone or when it prepares the operation.
#pragma once

#include <string_view>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// True if the operation computes in one type of its own. A chain's steps have theirs, and a conversion has
/// two.
bool has_type_of_its_own(const Operation&);

/// Throws UsageError if preparing the operation on this device would: the device lacks the data type, the
/// free memory, the allocator or the host memory; a pattern or a kernel has no source; or a kernel is to run
/// on a CPU.
void check_can_run(const Operation& operation, const DeviceDescription& device);

/// Throws UsageError if the operation is a chain that needs streams or waits, which this device lacks.
void refuse_streams(const Operation& operation, std::string_view device_id);

/// Throws UsageError if the operation is a fused chain whose steps the device cannot run as one launch.
void refuse_unfusible(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can);

/// Throws UsageError if the operation is a GPU kernel, unless the program carries CPU loops for it.
void refuse_kernel(const Operation& operation, std::string_view device_id);

/// Throws UsageError for a collective if the device has none, or, where it has not joined its ranks, that
/// says how to start some.
void refuse_collective(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can,
                       bool has_joined);

/// Throws UsageError if the data type is not in `data_types` nor, except for products, in `further_types`.
void require_data_type(const Operation& operation, std::string_view device_id,
                       const std::vector<DataType>& data_types,
                       const std::vector<DataType>& further_types = {});

/// Throws UsageError if the device lacks the allocator, or a copy's host memory, that is asked for.
void require_means(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can);

/// Throws UsageError if `needed` exceeds `free`. `purpose`: an operation's text, or "emptying the caches".
void require_memory(std::string_view purpose, Bytes needed, Bytes free, std::string_view device_id);

}  // namespace jitterscope
