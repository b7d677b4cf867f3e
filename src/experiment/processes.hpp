// Combines records of several processes into one, whose intervals are over processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// Returns one process's median, clock and cycles.
ProcessTime process_time(const Measurement& measurement);

/// Returns the mean of the medians with Student's 95 % interval, which is infinite for one process. `rounds`
/// is the number in all processes together.
TimeEstimate estimate_over_processes(std::span<const ProcessTime> processes, std::int64_t rounds);

/// Returns the result's measurement under this load and cache state, or null.
const Measurement* measurement_of(const Result& result, Load load, CacheState cache);

/// Returns the same of groups of processes, each of which gives one value.
TimeEstimate estimate_over_groups(std::span<const double> nanoseconds, std::int64_t rounds);
/// Returns the mean ratio with Student's 95 % interval, from one logarithm for each group; nullopt for fewer
/// than two.
std::optional<RatioEstimate> ratio_over_groups(std::span<const double> logarithms);

/// Returns a subject's result in one process's record; null if it has none.
const Result* result_of(const RunRecord& record, const std::string& subject);
/// Returns why a subject has no time in any group of ranks: the first reason that a rank gives.
std::string failure_of(std::span<const std::vector<RunRecord>> groups, const std::string& subject);
/// Returns the warm measurement of a subject in one process's record; null if it has no rounds.
const Measurement* measurement_of(const RunRecord& record, const std::string& subject, Load load);
/// Returns the median time over ranks that did the same together; nullopt if one has none.
std::optional<Nanoseconds> time_of_group(std::span<const RunRecord> ranks, const std::string& subject,
                                         Load load);

/// Combines records of one plan, one from each process, at least one. Machine, devices and operations are
/// taken from the first. Times are over processes. A finding stays if at least half of the processes that
/// measured the operation have it. An operation that failed in some processes is taken from the others.
RunRecord combine_processes(std::vector<RunRecord> processes);

}  // namespace jitterscope
