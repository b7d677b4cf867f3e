// --continue: a run goes on where an earlier one was interrupted.
#pragma once

#include <string>

#include "cli/work_list.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::cli {

/// The file that the record is to be in: FILE of FILE and of FILE.part.
std::string file_to_continue(const std::string& named);

/// From FILE.part where that is there, else from FILE. Throws UsageError where neither holds a run.
RunRecord read_unfinished(const std::string& file);

/// What the earlier run finished becomes part of the record, whose device, conditions (RunRecord::asked) and
/// notes are those of now. Throws UsageError that says what differs, where anything does.
void take_over(RunRecord before, const std::string& file, const WorkList& work, RunRecord& record);

}  // namespace jitterscope::cli
