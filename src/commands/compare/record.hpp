// Writes, reads and draws the record of a comparison, for `compare`, `study` and `gate`.
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
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ComparisonRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ComparisonRecord& record);
/// Returns nullopt if the sides have not kept their rounds.
std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record);

}  // namespace jitterscope::report
