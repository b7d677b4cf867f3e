// One flat row for each operation in each condition: what a table, a spreadsheet or a plot starts from.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

/// What the operation's text says, with the usual values of what it leaves out: {"n": 32, "dtype": "f16", …}.
/// Of a callable those that it came with. Empty for PyTorch's own operators, whose text has no names.
Json parameters_json(const Subject& subject);

/// An array of flat objects, in the order of the results. What is not known is left out; an operation that
/// failed has one row with the reason.
Json run_summary_json(const RunRecord& record);

}  // namespace jitterscope
