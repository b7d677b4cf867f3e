// Writes, reads and draws the record of a comparison, for `compare`, `study` and `gate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

std::string write_record(const ComparisonRecord& record);
Text record_text(const ComparisonRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const ComparisonRecord& record);
/// Writes RFC 4180 with a header line and a row for each ratio: of layers, operations and totals.
std::string summary_csv(const ComparisonRecord& record);

/// Compares the records that these files hold, each with the first, and fills title, names and times. Throws
/// UsageError if one of them has nothing in common with the first.
void compare_files_of(const std::vector<RunRecord>& records, const std::vector<std::string>& files,
                      ComparisonRecord& compared);

/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ComparisonRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ComparisonRecord& record);
/// Returns nullopt if the sides have not kept their rounds.
std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record);

}  // namespace jitterscope::report
