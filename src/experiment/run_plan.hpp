// The plan of what is timed and what is asked beside the times, and the function that carries it out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "finding/finding.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "measure/arrivals.hpp"
#include "measure/session.hpp"
#include "measure/trials.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// Trials that one process carries out in order.
struct Plan {
  /// Trials of a group are visited in the same blocks, their rounds paired. A group of one trial is compared
  /// with nothing.
  std::vector<std::vector<Trial>> groups;
  /// Known facts about each trial before it is timed, group after group. May be empty.
  std::vector<RunEntry> entries = {};
  bool verify = false;
  bool ceilings = true;        ///< measure the device's best rates first
  bool trace_kernels = false;  ///< trace a launch of each trial after all times, which a tracer slows
  /// Ranks only: collectives whose arrivals are measured after all times.
  std::optional<ArrivalOptions> arrivals = {};
  bool links = false;                     ///< of a rank: measure those to the others after that
  std::optional<Model> in_sequence = {};  ///< network whose calls are timed in order, after all else
  std::string recorded_cudnn = {};        ///< version in the replayed record; empty if there is none
  bool is_incomplete = false;             ///< a part of the input could not be read
  bool precision_was_asked = false;       ///< the user asked for it: a miss has an exit code of its own
};

std::size_t trials_in(const Plan& plan);
/// True if one of its trials needs the other ranks.
bool has_collective(const Plan& plan);
/// Returns the first trial's options: their limits, seed, idles and listeners hold for the whole plan. Throws
/// UsageError if the plan has no trial.
const MeasureOptions& shared_options(const Plan& plan);

// A plan is carried out in this process; what was measured is kept if something fails.

/// Called before each stage with its name and the number of its trial (0: before the first).
using StageListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;

/// Callbacks of run_plan(); all may be empty.
struct PlanListeners {
  StageListener stage = {};
  /// Called after every few trials with the record so far.
  std::function<void(const RunRecord& record)> saved = {};
  /// Called for each trial that failed. It may throw, which ends the plan.
  std::function<void(const Error& error)> failed = {};
  Ranks* ranks = nullptr;  ///< the other processes of the plan's collectives; null: there are none
};

/// Fills record.ceilings, entries and findings; device and calibration must be set. Results of an earlier run
/// of the same plan are kept and not measured again. If a trial cannot be measured, its result says why and
/// the rest goes on; after three failures of the device in a row it stops, since the device is then gone.
/// Returns the exit code of the whole.
ExitCode run_plan(Session& session, const Plan& plan, RunRecord& record, const PlanListeners& listeners);

/// Returns the exit code for a record whose failed operations are known by their messages only.
ExitCode exit_code_of(const Plan& plan, const RunRecord& record);

}  // namespace jitterscope
