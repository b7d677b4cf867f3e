// What the instruments add to a time, measured on kernels of several lengths and sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// GPU time of one spin kernel as a tracer reported it, in another process: the reference.
struct ReferenceTime {
  std::string operation;
  Nanoseconds time;
};

/// The kernels that both instruments read: empty and spinning ones, on one block, on one for each
/// processor, and on eight for each (a CPU has one block).
std::vector<Operation> calibration_operations(const DeviceDescription& device);

/// Times each of calibration_operations() by the device's tracer. Other instruments read wrong afterwards, so
/// call it in a process of its own.
std::vector<ReferenceTime> trace_calibration_operations(Device& device);

/// Reads every kernel by both instruments. The slope's constant is its distance from the reference;
/// the events' constant is their distance from the slope, plus that. Without a reference the slope is taken as
/// the truth, and its uncertainty says what that was worth on an H200.
Calibration calibrate(Device& device, Queue& queue, const std::vector<ReferenceTime>& reference);

}  // namespace jitterscope
