// Findings: pure functions from measurements to causes of disturbance, each with evidence and a remedy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/measurement.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// Id of the finding that an interval is wider than requested.
inline constexpr const char* kImpreciseFinding = "imprecise";
/// Id of the finding that other programs use the device.
inline constexpr const char* kOtherProcessFinding = "other_process";
inline constexpr const char* kEngineIgnoredFinding = "engine_ignored";
inline constexpr const char* kOnlyMovedFinding = "only_moved";

/// Facts about the run besides the one result.
struct FindingContext {
  const DeviceDescription& device;
  const Calibration& calibration;
  const Ceilings& ceilings;
  std::optional<std::vector<std::string>> other_processes;  ///< "pid name"; nullopt if unknown
  std::optional<CacheProof> cache_proof;                    ///< nullopt if no cold time was requested
  bool on_gpu = false;
  std::string recorded_cudnn = {};   ///< version in the replayed record; empty without one
  bool precision_was_asked = false;  ///< requested by the user, not the default
};

/// Returns the findings of one operation.
std::vector<Finding> find_all(const Result& result, const FindingContext& context);
/// Returns the findings of the machine: once per run, not once per operation.
std::vector<Finding> machine_findings(const FindingContext& context);

// One detector for each cause; finding.cpp has the tables that run them.

using Detector = std::vector<Finding> (*)(const Result&, const FindingContext&);
using MachineDetector = std::vector<Finding> (*)(const FindingContext&);

std::vector<Finding> find_power_cap(const Result& result, const FindingContext& context);
std::vector<Finding> find_sustained_differs(const Result& result, const FindingContext& context);
std::vector<Finding> find_thermal(const Result& result, const FindingContext& context);
std::vector<Finding> find_clock_below_maximum(const Result& result, const FindingContext& context);
std::vector<Finding> find_idle_ramp(const Result& result, const FindingContext& context);
std::vector<Finding> find_drift(const Result& result, const FindingContext& context);
std::vector<Finding> find_no_steady_state(const Result& result, const FindingContext& context);
std::vector<Finding> find_core_taken(const Result& result, const FindingContext& context);
std::vector<Finding> find_device_taken(const Result& result, const FindingContext& context);
std::vector<Finding> find_recurring(const Result& result, const FindingContext& context);
std::vector<Finding> find_tail(const Result& result, const FindingContext& context);
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

// Compares a layer in its network with the same layer alone.

/// All calls of one operation in a sequence.
struct LayerInSequence {
  std::size_t result = 0;  ///< index into RunRecord::entries
  std::int64_t calls = 0;
  TimeEstimate in_place;              ///< median, low and high: medians over the calls; rounds: the fewest
  Nanoseconds fastest, slowest;       ///< among the calls
  std::optional<Conditions> nearest;  ///< conditions of the single-layer time that is nearest
  double difference = 0.0;            ///< relative distance of the median from that time
  std::string reason;
};

/// Returns the layers that ran in the sequence, in the order of the results; empty if there was no sequence.
std::vector<LayerInSequence> layers_in_sequence(const RunRecord& record);

}  // namespace jitterscope
