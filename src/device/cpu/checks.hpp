// What limits precision on this CPU, line by line.
#pragma once

#include <vector>

#include "device/cpu/machine.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

/// Cores that the affinity mask and the control group's quota leave, at least one.
int usable_cores(const MachineFacts& machine);
std::vector<Check> checks_of(const MachineFacts& machine, const std::vector<LibraryInfo>& libraries);

}  // namespace jitterscope::cpu
