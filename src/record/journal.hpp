// A run that is not finished, as a file that only grows: a line for what is known of the run, then one for
// each operation.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"

namespace jitterscope {

/// The first line: the record without its entries. Both end with a line break.
std::string journal_head(const RunRecord& record);
std::string journal_line(const RunEntry& entry);

/// Whether a file begins as a journal does.
bool is_journal(std::string_view text);

/// The record so far, marked as interrupted. A last line that was cut off is left out. Throws UsageError,
/// which begins with `name`, for other damage.
RunRecord read_journal(std::string_view text, const std::string& name);

/// A sentence for each thing that two runs were not asked for alike; empty where they were.
std::string differences(const RunAsked& before, const RunAsked& now);

}  // namespace jitterscope
