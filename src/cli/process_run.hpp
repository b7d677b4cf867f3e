// The same plan in several fresh processes, with a live line, as one record.
#pragma once

#include <cstdint>

#include "experiment/plan.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::cli {

struct Invocation;

/// Fills what the record does not have yet: all but the device, the environment and what was read. It stays
/// without entries where it was interrupted before a process was done.
void measure_in_processes(const Plan& plan, std::int64_t processes, const Invocation& invocation,
                          RunRecord& record);

/// Says over how many processes the times are, and which were lost.
void note_processes(std::size_t count, const std::vector<std::string>& lost, RunRecord& record);

}  // namespace jitterscope::cli
