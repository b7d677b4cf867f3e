// Writes, reads and prints the record of `doctor`: how well a machine can be used for measuring.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// Precision of timing on this device, reached by a few seconds of measuring.
struct NoiseFloor {
  Calibration calibration;
  std::vector<Result> results;  ///< one measurement or a failure each
  std::optional<CacheProof> cache_proof;
  /// Host time of one launch, the least of the results.
  std::optional<Nanoseconds> launch_cost;
  Nanoseconds duration;
  bool interrupted = false;
};

/// Lines of the report under one heading.
struct DoctorSection {
  std::string key;      ///< devices, libraries, device, host, noise_floor
  std::string heading;  ///< for people
  std::vector<Check> checks;
};

/// Findings of `jitterscope doctor` on a machine.
struct DoctorReport {
  Environment environment;
  DeviceDescription device;             ///< the inspected device; without id if it could not be opened
  std::vector<LibraryInfo> libraries;   ///< for that device and the CPU
  std::vector<DoctorSection> sections;  ///< in the order printed
  std::optional<NoiseFloor> noise_floor;
  bool interrupted = false;
};

/// 5th and 95th percentile of the times of rounds. Needs at least one round.
struct RoundSpread {
  Nanoseconds p5, p95;
};
RoundSpread round_spread(const Measurement& measurement);

std::string write_record(const DoctorReport& record);
Text record_text(const DoctorReport& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const DoctorReport& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, DoctorReport& record);

// Below: the report's lines, in sentences with remedies.

/// Self-descriptions of a machine and its devices.
struct MachineChecks {
  std::vector<DeviceListing> devices;
  /// Lines of the device and of the CPU. A CPU has only host lines.
  std::vector<Check> device_checks, host_checks;
};

/// Needs everything in the report but its sections.
std::vector<DoctorSection> doctor_sections(const DoctorReport& report, const MachineChecks& machine);

/// Says what the noise floor means for measurements on this machine.
std::vector<Check> noise_floor_checks(const NoiseFloor& floor);

// Below: the printed report.

/// Prints a line for each check, marked ok, limits or missing, with its remedy below. The last line says how
/// to find out whether to trust the tool on this machine.
Text doctor_text(const DoctorReport& report, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const DoctorReport& record);

}  // namespace jitterscope::report
