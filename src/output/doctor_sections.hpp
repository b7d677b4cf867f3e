// The lines of `jitterscope doctor`: what was looked at, in sentences with remedies.
#pragma once

#include <vector>

#include "record/records.hpp"

namespace jitterscope {

/// What a machine and its devices say of themselves.
struct MachineChecks {
  std::vector<DeviceListing> devices;
  /// The device's own lines and the CPU's; a CPU has no lines besides those of the host.
  std::vector<Check> device_checks, host_checks;
};

/// Of the report all but its sections must be there.
std::vector<DoctorSection> doctor_sections(const DoctorReport& report, const MachineChecks& machine);

/// What the noise floor means for measuring here.
std::vector<Check> noise_floor_checks(const NoiseFloor& floor);

}  // namespace jitterscope
