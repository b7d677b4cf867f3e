// Carries out `explain` for a collective between the ranks of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/invocation.hpp"
#include "commands/explain/record.hpp"
#include "explain/between_ranks.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cli {

/// Runs blocks for about as long as the limit, at least as many as a verdict needs, each in fresh processes
/// on `devices`, one for each rank, and fills conclusions, study and notes of the record. `seed` is that of
/// idles, orders and a simulated cluster. Throws FailedError if no block gave records.
void study_between_ranks(const explain::StudyBetweenRanks& study, const std::vector<std::string>& devices,
                         Nanoseconds time_limit, std::uint64_t seed, const Invocation& invocation,
                         ExplainRecord& record);

}  // namespace jitterscope::cli
