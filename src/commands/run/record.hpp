// Prints and draws a run's record; record/run_file.hpp reads and writes it.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "record/run_file.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

Text record_text(const RunRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const RunRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const RunRecord& record);

}  // namespace jitterscope::report
