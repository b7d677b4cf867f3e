// What was tried to make work shorter, as it stands in a file.
#pragma once

#include <string>
#include <vector>

#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "study/advice.hpp"

namespace jitterscope {

std::string write_record(const study::AdviceRecord& record);
std::string record_text(const study::AdviceRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, study::AdviceRecord& record);

// What would make work shorter, as a page: the answer, the lines to write, what was tried.

std::string advice_table(const study::AdviceRecord& record, const Page& page);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const study::AdviceRecord& record);

}  // namespace jitterscope::report
