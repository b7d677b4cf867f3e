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

/// All cache states of one operation under one load.
struct MeasuredOperation {
  std::string name;
  std::vector<MeasuredArm> arms;
};

/// Rounds of all operations and cache states in turn, in a new random order after each random idle, until
/// every one is precise or has had its operation's time limit. Operations share an idle while their rounds
/// together last no longer than an idle does on average: else 117 operations of ResNet-50 idle for 68 of 106
/// s on an H200.
void measure_burst(Device& device, std::vector<MeasuredOperation>& operations, const MeasureOptions& options);

/// Work without pause until time and clock have settled, and then until the settled part is precise.
void measure_sustained(Device& device, Queue& queue, MeasuredArm& arm, const std::string& name,
                       const MeasureOptions& options);

}  // namespace jitterscope
