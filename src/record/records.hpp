// What each command found out: plain data, for its table and its file. A run's is measure/run_record.hpp, the
// selftest's selftest/proof.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/account.hpp"
#include "explain/explanation.hpp"
#include "measure/cache_proof.hpp"
#include "measure/engine_ranking.hpp"
#include "measure/method_comparison.hpp"
#include "measure/run_record.hpp"
#include "pytorch/comparison.hpp"

namespace jitterscope {

struct MethodsRecord {
  Environment environment;
  DeviceDescription device;
  MethodComparison comparison;
};

struct EnginesRecord {
  Environment environment;
  DeviceDescription device;
  EngineRanking ranking;
};

struct ExplainRecord {
  Environment environment;
  DeviceDescription device;
  std::vector<std::string> conclusions;       ///< sentences for a person to act on, the most important first
  std::optional<explain::Explanation> study;  ///< of one operation; or
  std::int64_t calls = 1;                     ///< of that operation in the network that it was picked from
  std::vector<explain::Account> accounts;     ///< of two records, operation by operation
  std::vector<std::string> notes;
  bool interrupted = false;
};

struct PytorchRecord {
  Environment environment;
  DeviceDescription device;
  PytorchComparison comparison;
};

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

}  // namespace jitterscope
