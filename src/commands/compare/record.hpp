// A comparison as a file, as text and as plots: of compare, of study and of gate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

std::string write_record(const ComparisonRecord& record);
std::string record_text(const ComparisonRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, ComparisonRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ComparisonRecord& record);
/// Nothing where its sides keep no rounds.
std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record);

}  // namespace jitterscope::report
