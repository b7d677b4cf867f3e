// How finely a device can be timed: a few seconds of the measuring loop on small operations.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "record/records.hpp"

namespace jitterscope::cli {

/// What is measured, each in a burst with a warm cache.
std::vector<Operation> noise_floor_operations(const DeviceDescription& device);

/// Where measuring fails, the result of that operation says why. Ctrl-C ends it early.
NoiseFloor measure_noise_floor(Device& device);

/// What measure_noise_floor would do, and for how long.
std::string noise_floor_plan(const DeviceDescription& device);

}  // namespace jitterscope::cli
