// Carries a plan out in this process, and keeps what there is when something goes wrong.
#pragma once

#include <functional>
#include <string>

#include "experiment/plan.hpp"
#include "finding/finding.hpp"
#include "jitterscope/error.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Called before each stage with what is being done and which trial it is (0: before the first).
using StageListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;
/// Called after each few trials with all that is known.
using RecordListener = std::function<void(const RunRecord& record)>;

/// Fills record.ceilings, entries and findings; device and calibration are there. What is there already, of
/// an earlier run of the same plan, is not measured again. A trial that cannot be measured has its reason in
/// its result and the rest goes on, but not after three failures of the device in a row: then it has gone.
/// Returns the exit code that the whole deserves.
ExitCode run_plan(Session& session, const Plan& plan, RunRecord& record, const StageListener& stage,
                  const RecordListener& saved);

/// What a record of the plan deserves, where why an operation failed is not known beyond its sentence.
ExitCode exit_code_of(const Plan& plan, const RunRecord& record);

}  // namespace jitterscope
