// Makes one flat row for each operation under each condition, for tables, spreadsheets and plots.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

/// Returns the operation's parameters, with defaults: {"n": 32, "dtype": "f16", …}; a callable's own
/// parameters; empty for PyTorch's own operators, whose text has no names.
Json parameters_json(const Subject& subject);

/// Returns an array of flat objects in the order of the results. Unknown values are left out. A failed
/// operation has one row with the reason.
Json run_summary_json(const RunRecord& record);

}  // namespace jitterscope
