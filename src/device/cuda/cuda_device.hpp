// One NVIDIA GPU as a Device, through the CUDA driver API.
#pragma once

#include <memory>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Throws MissingError if there is no driver or no such GPU.
std::unique_ptr<Device> open_cuda_device(int ordinal);

/// Never throws. Without a usable driver it returns one entry, cuda:0, whose problem says why.
std::vector<DeviceListing> list_cuda_devices();

}  // namespace jitterscope::cuda
