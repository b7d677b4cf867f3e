// What the instruments add to a time, measured on kernels of several lengths and sizes.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// The kernels that both instruments read: empty and spinning ones, on one block, on one for each
/// processor, and on eight for each (a CPU has one block).
std::vector<Operation> calibration_operations(const DeviceDescription& device);

/// Reads every kernel by both instruments. The slope is taken as it is: on an H200 it lay within 0.03 us of
/// CUPTI's kernel time for spin kernels on 132 and 1,056 blocks, and 0.07 us below it on one block. The
/// events' constant is their distance from the slope.
Calibration calibrate(Device& device, Queue& queue);

}  // namespace jitterscope
