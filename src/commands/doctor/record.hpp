// What a machine allows, as it stands in a file.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// How finely this device can be timed: what a few seconds of measuring reached.
struct NoiseFloor {
  Calibration calibration;
  std::vector<Result> results;  ///< one measurement each, or a failure
  std::optional<CacheProof> cache_proof;
  /// Host time of one launch, least of the results.
  std::optional<Nanoseconds> launch_cost;
  Nanoseconds duration;
  bool interrupted = false;
};

/// Lines of the doctor's report under their heading.
struct DoctorSection {
  std::string key;      ///< devices, libraries, device, host, noise_floor
  std::string heading;  ///< for people
  std::vector<Check> checks;
};

/// What `jitterscope doctor` found out about a machine.
struct DoctorReport {
  Environment environment;
  DeviceDescription device;             ///< the one that was looked at; no id where it could not be opened
  std::vector<LibraryInfo> libraries;   ///< of that device and of the CPU
  std::vector<DoctorSection> sections;  ///< in the order printed
  std::optional<NoiseFloor> noise_floor;
  bool interrupted = false;
};

/// 5th and 95th percentile of the times of rounds. At least one round.
struct RoundSpread {
  Nanoseconds p5, p95;
};
RoundSpread round_spread(const Measurement& measurement);

std::string write_record(const DoctorReport& record);
std::string record_text(const DoctorReport& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, DoctorReport& record);

// The lines of `jitterscope doctor`: what was looked at, in sentences with remedies.

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

// What `jitterscope doctor` prints.

/// A line for each thing looked at, marked ok, limits or missing, its remedy below it; last how to
/// find out whether to believe the tool here.
std::string doctor_text(const DoctorReport& report, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const DoctorReport& record);

}  // namespace jitterscope::report
