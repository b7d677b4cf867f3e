// Combines records of several processes into one, whose intervals are over processes.
#pragma once

#include <span>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// Returns one process's median, clock and cycles.
ProcessTime process_time(const Measurement& measurement);

/// Returns the mean of the medians with Student's 95 % interval, which is infinite for one process. `rounds`
/// is the number in all processes together.
TimeEstimate estimate_over_processes(std::span<const ProcessTime> processes, std::int64_t rounds);

/// Returns the result's measurement under this load and cache state, or null.
const Measurement* measurement_of(const Result& result, Load load, CacheState cache);

/// Combines records of one plan, one from each process, at least one. Machine, devices and operations are
/// taken from the first. Times are over processes. A finding stays if at least half of the processes that
/// measured the operation have it. An operation that failed in some processes is taken from the others.
RunRecord combine_processes(std::vector<RunRecord> processes);

}  // namespace jitterscope
