// Measures a list of work, some items at once, and keeps what there is when something goes wrong.
#pragma once

#include <functional>
#include <string>

#include "cli/work_list.hpp"
#include "finding/finding.hpp"
#include "jitterscope/error.hpp"
#include "measure/session.hpp"

namespace jitterscope::cli {

struct RunRequest {
  WorkList work;
  MeasureOptions options;
  bool verify = false;
  bool ceilings = true;
  bool in_sequence = false;
};

/// Called before each stage with what is being done and which item it is (0: before the first).
using StageListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;
/// Called after each few items with all that is known.
using RecordListener = std::function<void(const RunRecord& record)>;

/// Fills record.ceilings, results and findings. An item that cannot be measured has its reason in the result
/// and the rest goes on, but not after three failures of the device in a row: then it has gone. Returns the
/// exit code that the whole run deserves.
ExitCode run_all(Session& session, const RunRequest& request, RunRecord& record, const StageListener& stage,
                 const RecordListener& saved);

}  // namespace jitterscope::cli
