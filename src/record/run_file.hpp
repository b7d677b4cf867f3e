// A run's record in its file.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

inline constexpr std::string_view kRunCommand = "run";

/// The whole record, raw rounds and launches included. Numbers that are not finite are left out; everything
/// else reads back as it was, so that the text written from what was read is the same.
std::string write_record(const RunRecord& record);

/// From a document whose envelope says that a run wrote it.
void read_fields(const Json& document, const std::string& name, RunRecord& record);

/// A run's record or its journal. Throws UsageError, which begins with `name_for_messages`, for another
/// command's record and for what is none, of a newer version, cut off or damaged.
RunRecord read_run_record(std::string_view text, const std::string& name_for_messages);

// A run that is not finished, as a file that only grows: a line for what is known of the run, then one for
// each operation.

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
