// What `jitterscope doctor` found out about a machine: plain data, for its text and its JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/cache_proof.hpp"
#include "measure/run_record.hpp"

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

struct DoctorReport {
  Environment environment;
  std::vector<DeviceListing> devices;
  std::string device;  ///< id of the one that was looked at; empty where it could not be opened
  std::vector<LibraryInfo> libraries;
  /// The device's own lines and the CPU's; a CPU has no lines besides those of the host.
  std::vector<Check> device_checks, host_checks;
  std::optional<NoiseFloor> noise_floor;
};

/// The lines of the report under their headings, in the order printed.
struct DoctorSection {
  std::string key;      ///< devices, libraries, device, host, noise_floor
  std::string heading;  ///< for people
  std::vector<Check> checks;
};
std::vector<DoctorSection> doctor_sections(const DoctorReport& report);

/// What the noise floor means for measuring here.
std::vector<Check> noise_floor_checks(const NoiseFloor& floor);

/// 5th and 95th percentile of the times of rounds. At least one round.
struct RoundSpread {
  Nanoseconds p5, p95;
};
RoundSpread round_spread(const Measurement& measurement);

}  // namespace jitterscope
