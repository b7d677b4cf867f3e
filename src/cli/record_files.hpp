// Records that were named on the command line.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope::cli {

/// Whether the targets are files, and one of them at least a record, by how it begins. Throws UsageError
/// where one is a record and another no file.
bool are_records(const std::vector<std::string>& targets);

bool is_file(const std::string& path);

/// Throws UsageError for a target that is named as a JSON file and is none.
void refuse_missing_files(const std::vector<std::string>& targets);

/// Throws UsageError where a file is given in the place of one operation.
void refuse_file_as_operation(const std::string& target);

/// A file, or - for standard input. Throws UsageError where it cannot be read.
std::string read_text(const std::string& file);

/// Throws UsageError where the file cannot be read or holds no record of `run`.
RunRecord read_run_file(const std::string& path);

}  // namespace jitterscope::cli
