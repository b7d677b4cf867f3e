// What disturbed a measurement: pure functions from what was measured to causes with evidence and a remedy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/measurement.hpp"
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

// One detector for each cause; finding.cpp holds the tables that run them.

using Detector = std::vector<Finding> (*)(const Result&, const FindingContext&);
using MachineDetector = std::vector<Finding> (*)(const FindingContext&);

std::vector<Finding> find_power_cap(const Result& result, const FindingContext& context);
std::vector<Finding> find_sustained_differs(const Result& result, const FindingContext& context);
std::vector<Finding> find_thermal(const Result& result, const FindingContext& context);
std::vector<Finding> find_clock_below_maximum(const Result& result, const FindingContext& context);
std::vector<Finding> find_idle_ramp(const Result& result, const FindingContext& context);
std::vector<Finding> find_drift(const Result& result, const FindingContext& context);
std::vector<Finding> find_no_steady_state(const Result& result, const FindingContext& context);
std::vector<Finding> find_device_taken(const Result& result, const FindingContext& context);
std::vector<Finding> find_recurring(const Result& result, const FindingContext& context);
std::vector<Finding> find_bimodal(const Result& result, const FindingContext& context);
std::vector<Finding> find_imprecise(const Result& result, const FindingContext& context);
std::vector<Finding> find_instrument(const Result& result, const FindingContext& context);
std::vector<Finding> find_timer_grain(const Result& result, const FindingContext& context);
std::vector<Finding> find_launch_bound(const Result& result, const FindingContext& context);
std::vector<Finding> find_pageable(const Result& result, const FindingContext& context);
std::vector<Finding> find_waits_for_gpu(const Result& result, const FindingContext& context);
std::vector<Finding> find_lost_rounds(const Result& result, const FindingContext& context);
std::vector<Finding> find_iteration_count(const Result& result, const FindingContext& context);
std::vector<Finding> find_engine_ignored(const Result& result, const FindingContext& context);
std::vector<Finding> find_only_moved(const Result& result, const FindingContext& context);
std::vector<Finding> find_zeros(const Result& result, const FindingContext& context);

std::vector<Finding> find_other_process(const FindingContext& context);
std::vector<Finding> find_other_cudnn(const FindingContext& context);
std::vector<Finding> find_cold_not_proven(const FindingContext& context);

// A layer in its network against the same layer alone: how far they differ, and why as far as that is known.

/// All calls of one operation.
struct LayerInSequence {
  std::size_t result = 0;  ///< index of RunRecord::entries
  std::int64_t calls = 0;
  TimeEstimate in_place;         ///< median, low and high are medians over the calls; rounds are the fewest
  Nanoseconds fastest, slowest;  ///< of the calls
  std::optional<Conditions> nearest;  ///< alone, in these conditions, it is nearest
  double difference = 0.0;            ///< of the median from that, relative
  std::string reason;
};

/// In the order of the results; those that ran in the sequence. Empty where there was none.
std::vector<LayerInSequence> layers_in_sequence(const RunRecord& record);

}  // namespace jitterscope
