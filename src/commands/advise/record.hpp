// Writes and reads the record of `advise`: the remedies that were tried on the work.
#pragma once

#include <string>
#include <vector>

#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "study/advice.hpp"

namespace jitterscope {

std::string write_record(const study::AdviceRecord& record);
Text record_text(const study::AdviceRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const study::AdviceRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, study::AdviceRecord& record);

// Prints the record: the answer, the lines to write, then the remedies that were tried.

Text advice_table(const study::AdviceRecord& record, const Page& page);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const study::AdviceRecord& record);

}  // namespace jitterscope::report
