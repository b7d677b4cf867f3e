// What `jitterscope run` prints: Markdown that reads well in a terminal.
#pragma once

#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

/// A header, the times, findings with remedies, failures, verification. One operation is shown in detail,
/// several in a row each, with totals where a model is counted.
std::string run_table(const RunRecord& record);

}  // namespace jitterscope
