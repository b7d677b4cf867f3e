// The same work measured by several processes, as one record: the process is then the unit of each interval.
#pragma once

#include <span>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// What one process found.
ProcessTime process_time(const Measurement& measurement);

/// The mean of their medians with Student's 95 % interval; that of a single one is infinite. `rounds` is of
/// all of them together.
TimeEstimate estimate_over_processes(std::span<const ProcessTime> processes, std::int64_t rounds);

/// The measurement of a result under a load and in a cache state; null where there is none.
const Measurement* measurement_of(const Result& result, Load load, CacheState cache);

/// Records of one plan, one from each process and at least one, as one: what they say of the machine, the
/// devices and the operations is the first one's; times are over processes; a finding stays that half of
/// those that measured the operation have. An operation that failed in some processes is what the others say
/// of it.
RunRecord combine_processes(std::vector<RunRecord> processes);

}  // namespace jitterscope
