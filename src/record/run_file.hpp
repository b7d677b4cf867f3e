// Reads and writes files that hold a run's record.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

inline constexpr std::string_view kRunCommand = "run";

/// Writes the whole record, with raw rounds and launches. Numbers that are not finite are left out.
/// Everything else reads back exactly: writing what was read gives the same text.
std::string write_record(const RunRecord& record);

/// Reads the record from a document whose envelope names `run` as the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, RunRecord& record);

/// Reads a run's record or journal. Throws UsageError, which begins with `name_for_messages`, if the text is
/// another command's record, no record, of another version, cut off or damaged.
RunRecord read_run_record(std::string_view text, const std::string& name_for_messages);

// A journal holds an unfinished run in a file that only grows: one line for the run, then one line for each
// operation.

/// Returns the first line: the record without entries. Both functions end the line with a line break.
std::string journal_head(const RunRecord& record);
std::string journal_line(const RunEntry& entry);

/// True if the text begins like a journal.
bool is_journal(std::string_view text);

/// Returns the record so far, marked as interrupted. Ignores a last line that was cut off. Throws UsageError,
/// which begins with `name`, for other damage.
RunRecord read_journal(std::string_view text, const std::string& name);

/// Returns a sentence for each setting in which the two requests differ; empty if they are the same.
std::string differences(const RunAsked& before, const RunAsked& now);

}  // namespace jitterscope
