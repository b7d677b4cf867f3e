// A row for each operation in each condition, for spreadsheets and plots.
#pragma once

#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

/// The record's summary as RFC 4180 with a header line: a column for each key that occurs.
std::string run_summary_csv(const RunRecord& record);

}  // namespace jitterscope
