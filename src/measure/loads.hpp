// The two loads: short rounds with idle between, and work without pause.
#pragma once

#include <string>
#include <vector>

#include "measure/arm.hpp"

namespace jitterscope {

/// One measurement in the making.
struct MeasuredArm {
  Arm arm;
  Measurement measurement;
};

/// Rounds of all arms in turn, in a new random order after each random idle, until every arm is precise or
/// the time limit is reached.
void measure_burst(Device& device, std::vector<MeasuredArm>& arms, const std::string& name,
                   const MeasureOptions& options);

/// Work without pause until time and clock have settled, and then until the settled part is precise.
void measure_sustained(Device& device, Queue& queue, MeasuredArm& arm, const std::string& name,
                       const MeasureOptions& options);

}  // namespace jitterscope
