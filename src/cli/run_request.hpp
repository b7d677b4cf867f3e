// What `run` was asked for, before anything is timed.
#pragma once

#include <cstdint>
#include <string>

#include "cli/targets.hpp"
#include "experiment/run_plan.hpp"
#include "measure/run_record.hpp"
#include "output/text.hpp"

namespace jitterscope::cli {

struct RunRequest {
  WorkList work;
  MeasureOptions options;
  bool verify = false;
  bool ceilings = true;
  bool in_sequence = false;
  std::int64_t processes = 1;        ///< fresh ones where there is more than one, each with the whole plan
  bool precision_was_asked = false;  ///< by the user: then missing it has an exit code of its own
};

/// A trial for each layer of the work, compared with nothing.
Plan plan_of(const RunRequest& request);

// What a run will do, and for how long: --dry-run, and what a person is told before a long run.

struct TimeRange {
  Nanoseconds least, most;
};
/// From the idles, the least number of rounds and the time limits, of all that is asked for. Launches are
/// taken to be short against the idles, which on a CPU they may not be: then the limits decide. The launches
/// of loops have no limit; they are taken to last kLoopLaunch at most.
TimeRange expected_time(const RunRequest& request);
inline constexpr Nanoseconds kLoopLaunch = milliseconds(1);

/// Operations, conditions, time: nothing is measured to write it.
std::string plan_text(const RunRequest& request, const DeviceDescription& device,
                      std::size_t width = kPageWidth);

// The same plan in several fresh processes, with a live line, as one record.

struct Invocation;

/// Fills what the record does not have yet: all but the device, the environment and what was read. It stays
/// without entries where it was interrupted before a process was done.
void measure_in_processes(const Plan& plan, std::int64_t processes, const Invocation& invocation,
                          RunRecord& record);

/// Says over how many processes the times are, and which were lost.
void note_processes(std::size_t count, const std::vector<std::string>& lost, RunRecord& record);

}  // namespace jitterscope::cli
