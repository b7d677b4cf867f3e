// Holds what `run` was asked to measure, and carries it out in several processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/simulation_time.hpp"
#include "cli/targets.hpp"
#include "experiment/run_plan.hpp"
#include "measure/run_record.hpp"
#include "output/text.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {

struct RunRequest {
  WorkList work;
  MeasureOptions options;
  bool verify = false;
  bool ceilings = true;
  bool in_sequence = false;
  std::int64_t processes = 1;        ///< if more than 1, in fresh processes, each with the whole plan
  bool precision_was_asked = false;  ///< by the user; missing it then has its own exit code
};

/// Makes a group with one trial for each layer of the work.
Plan plan_of(const RunRequest& request);

// Below: the plan and its duration, for --dry-run and before a long run.

/// Estimates the device's own time from idles, the minimum number of rounds and time limits. Assumes launches
/// short against the idles; on a CPU they may be longer, and then the limits decide. Launches of loops have
/// no limit; each is taken to last kLoopLaunch at most.
TimeRange expected_time(const RunRequest& request);
inline constexpr Nanoseconds kLoopLaunch = milliseconds(1);

/// Lists operations, conditions and duration without measuring.
std::string plan_text(const RunRequest& request, const DeviceDescription& device,
                      std::size_t width = kPageWidth);

// Below: one plan in several fresh processes, with a live line, as one record.

struct Invocation;

/// Fills all of the record but the device, the environment and what was read. Leaves it without entries if
/// interrupted before a process was done.
void measure_in_processes(const Plan& plan, std::int64_t processes, const Invocation& invocation,
                          RunRecord& record);

/// The same for collectives: each time in a fresh process for each rank's device, in step. The record is that
/// of rank 0, since all ranks time the same transfers.
void measure_on_ranks(const Plan& plan, const std::vector<std::string>& devices, std::int64_t processes,
                      const Invocation& invocation, RunRecord& record);
/// Returns the records of rank 0, one for each group of fresh processes, with a live line. Throws FailedError
/// if none gave one.
ProcessRecords run_on_ranks(const Plan& plan, const std::vector<std::string>& devices, std::int64_t processes,
                            const Invocation& invocation);
/// "Between 2 ranks; the times are those of rank 0."
std::string note_on_ranks(std::size_t ranks);

/// Adds notes on how many processes the times are from, and which were lost.
void note_processes(std::size_t count, const std::vector<std::string>& lost, RunRecord& record);

}  // namespace jitterscope::cli
