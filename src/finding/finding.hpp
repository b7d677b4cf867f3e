// What disturbed a measurement: pure functions from what was measured to causes with evidence and a remedy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jitterscope/measurement.hpp"
#include "measure/cache_proof.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// The id of the finding that an interval is wider than was asked for.
inline constexpr const char* kImpreciseFinding = "imprecise";
inline constexpr const char* kEngineIgnoredFinding = "engine_ignored";
inline constexpr const char* kOnlyMovedFinding = "only_moved";

/// What is known of the run beside the one result.
struct FindingContext {
  const DeviceDescription& device;
  const Calibration& calibration;
  const Ceilings& ceilings;
  std::optional<std::vector<std::string>> other_processes;  ///< "pid name"; nothing where unknown
  std::optional<CacheProof> cache_proof;                    ///< nothing where no cold time was asked for
  bool on_gpu = false;
  std::string recorded_cudnn = {};   ///< version in the record that is replayed; empty where there is none
  bool precision_was_asked = false;  ///< by the user, else it is the default
};

/// About one operation.
std::vector<Finding> find_all(const Result& result, const FindingContext& context);
/// About the machine: said once per run, not once per operation.
std::vector<Finding> machine_findings(const FindingContext& context);

}  // namespace jitterscope
