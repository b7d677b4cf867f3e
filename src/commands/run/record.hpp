// Prints and draws a run's record; record/run_file.hpp reads and writes it.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/text.hpp"
#include "record/run_file.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

std::string record_text(const RunRecord& record, const ShownPage& shown);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const RunRecord& record);

}  // namespace jitterscope::report
