// What is to be timed, on which device, and what is asked beside the times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "finding/finding.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "measure/session.hpp"
#include "measure/trials.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// One process carries it out from its first trial to its last.
struct Plan {
  /// Trials of a group are visited beside each other, their rounds paired. A group of one has a trial that is
  /// compared with nothing.
  std::vector<std::vector<Trial>> groups;
  /// Of each trial, group after group: what is known of it before it is timed. Empty where that is nothing.
  std::vector<RunEntry> entries = {};
  bool verify = false;
  bool ceilings = true;        ///< measure the device's best rates first
  bool trace_kernels = false;  ///< of one launch of each trial, behind all times, which a tracer slows
  std::optional<Model> in_sequence = {};  ///< its calls are timed in their order, after all else
  std::string recorded_cudnn = {};        ///< of the record that is replayed; empty where there is none
  bool is_incomplete = false;             ///< a part of what was to be timed could not be read
  bool precision_was_asked = false;       ///< by the user: then missing it has an exit code of its own
};

std::size_t trials_in(const Plan& plan);
/// Limits, seed, idles and listeners of the whole plan: those of the first trial. Throws UsageError where the
/// plan has none.
const MeasureOptions& shared_options(const Plan& plan);

// Carries a plan out in this process, and keeps what there is when something goes wrong.

/// Called before each stage with what is being done and which trial it is (0: before the first).
using StageListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;

/// All may be empty.
struct PlanListeners {
  StageListener stage = {};
  /// Called after each few trials with all that is known.
  std::function<void(const RunRecord& record)> saved = {};
  /// Called for each trial that failed. It may throw, which ends the plan.
  std::function<void(const Error& error)> failed = {};
};

/// Fills record.ceilings, entries and findings; device and calibration are there. What is there already, of
/// an earlier run of the same plan, is not measured again. A trial that cannot be measured has its reason in
/// its result and the rest goes on, but not after three failures of the device in a row: then it has gone.
/// Returns the exit code that the whole deserves.
ExitCode run_plan(Session& session, const Plan& plan, RunRecord& record, const PlanListeners& listeners);

/// What a record of the plan deserves, where why an operation failed is not known beyond its sentence.
ExitCode exit_code_of(const Plan& plan, const RunRecord& record);

}  // namespace jitterscope
