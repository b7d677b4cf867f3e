// The CPU as a device: oneDNN for layers, own loops for the rest, real measurements.
#pragma once

#include <memory>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

std::unique_ptr<Device> open_cpu_device();
DeviceListing list_cpu_device();
/// oneDNN, with its version and the file it was loaded from, and the plug-in for PyTorch.
std::vector<LibraryInfo> cpu_libraries();

}  // namespace jitterscope
