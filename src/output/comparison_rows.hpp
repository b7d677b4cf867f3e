// Makes the tables of comparisons and studies.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Makes the table of one item: a row for each alternative, with the names given.
Text alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                        const Page& page);
/// Returns all comparisons that have a ratio, in the order of layers_table.
std::vector<const Comparison*> rows_of_layers(const ComparisonRecord& record);
/// Makes the table of several items: a row for each item and alternative; a network's by effect on the total.
Text layers_table(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page);

// Below: tables of a study of several operations.

/// Makes the table of a network's totals: a row for each arm, all layers together.
Text totals_table(const ComparisonRecord& record, const std::vector<std::string>& names, std::size_t width);
/// Makes a table with a row for each operation and a column for each arm: times of the same work.
Text times_table(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page);

// Below: the tables that --details adds.

/// Makes tables, as many as the page's width needs, of totals and comparisons: clocks of both sides, change
/// in cycles, deviations within and between processes. Empty if none of these is known.
Text comparison_details(const ComparisonRecord& record, const std::vector<std::string>& names,
                        bool are_layers, const Page& page);

// Below: parts that the tables of comparisons and studies share.

/// Returns "warm burst".
std::string cache_and_load(const Conditions& conditions);
/// True if the comparisons have different conditions, which then must be named.
bool has_several_conditions(const ComparisonRecord& record);
/// Returns the comparison's conditions; empty if all comparisons have the same.
std::string condition_of(const ComparisonRecord& record, const Comparison& comparison);

/// Returns the heading above changes. Without a long name, which would leave no room for the rows' names.
std::string against(const std::string& first);

/// Returns a layer's first name, or the parameters that set a typed operation apart.
std::vector<std::string> row_labels(const std::vector<const Comparison*>& rows);

/// Returns the side's time for one sample if the record has samples, else for as much work as one launch of
/// the first alternative does.
std::string same_work_text(const ComparisonRecord& record, const ComparedSide& side, std::size_t alternative);
/// Returns the heading above it.
std::string same_work_heading(const ComparisonRecord& record);

/// True if the study counts the work of launches (loads, bytes or additions).
bool has_amounts(const ComparisonRecord& record);
/// True if sides count different units: then their times cannot be compared.
bool has_unlike_amounts(const ComparisonRecord& record);
/// Returns the size of all operands: "40 MiB".
std::string operands_text(const ComparedSide& side);
/// Returns the bytes that memory moves in one launch: "1.2 GiB"; a dash if they were not counted.
std::string moved_text(const ComparedSide& side);
/// Returns the number of kernels that ran at once: "3.6 on 4 streams"; a dash if they were not traced.
std::string at_once_text(const ComparedSide& side);
/// Returns "30.1 ns a load", "4.12 TB/s" or "2.5 G additions/s"; a dash if nothing was counted.
std::string amount_text(const ComparedSide& side);

/// True if any result was verified against a float64 reference and has an error (a copy has none).
bool has_errors(const ComparisonRecord& record);
/// Returns "3.6e-04", "7.0e-01 WRONG" or "17888 unwritten WRONG".
std::string error_text(const ComparedSide& side);
/// Returns the change against the first alternative; a dash if a side computed a wrong result.
std::string change_text(const Comparison& comparison);
/// Returns "faster", "WRONG RESULT", …
std::string verdict_text(const Comparison& comparison);
/// Returns the largest error of all results of an alternative.
std::string largest_error_text(const ComparisonRecord& record, std::size_t alternative);

}  // namespace jitterscope
