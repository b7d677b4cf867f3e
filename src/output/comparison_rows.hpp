// The tables of a comparison.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// One item: a row for each alternative, by the names given.
std::string alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                               const Page& page);
/// Comparisons that have a ratio, in the order of layers_table, all of them.
std::vector<const Comparison*> rows_of_layers(const ComparisonRecord& record);
/// Several items: a row for each and each alternative; of a network what changes the total most first.
std::string layers_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         const Page& page);

// The tables of a study of several operations: what all arms come to together, and the time of each.

/// A network: a row for each arm, all layers together.
std::string totals_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         std::size_t width);
/// A row for each operation, a column for each arm: the time of the same work.
std::string times_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                        const Page& page);

// What --details shows of a comparison beside its times.

/// Clocks of both sides, the change in cycles, and how far one process and several agree: of totals, then of
/// each comparison, in as many tables as fit the page. Empty where none of these is known.
std::string comparison_details(const ComparisonRecord& record, const std::vector<std::string>& names,
                               bool are_layers, const Page& page);

// What the tables of comparisons and studies have in common.

/// "warm burst"
std::string cache_and_load(const Conditions& conditions);
/// Conditions are named where there are several.
bool has_several_conditions(const ComparisonRecord& record);
/// Empty where there is one.
std::string condition_of(const ComparisonRecord& record, const Comparison& comparison);

/// The heading above changes. A long name there would leave no room for the names of the rows.
std::string against(const std::string& first);

/// A layer's first name; operations that were typed by what sets them apart.
std::vector<std::string> row_labels(const std::vector<const Comparison*>& rows);

/// Of as much work as one launch of the first alternative does.
std::string same_work_text(const ComparisonRecord& record, const ComparedSide& side, std::size_t alternative);

/// Whether a study counts what launches do.
bool has_amounts(const ComparisonRecord& record);
/// Whether launches do things that have no common measure: then how much longer one takes says nothing.
bool has_unlike_amounts(const ComparisonRecord& record);
/// "40 MiB": of all operands.
std::string operands_text(const ComparedSide& side);
/// "1.2 GiB": what all of memory moves in one launch; a dash where that was not counted.
std::string moved_text(const ComparedSide& side);
/// "3.6 on 4 streams": kernels that ran at once; a dash where they were not traced.
std::string at_once_text(const ComparedSide& side);
/// "30.1 ns a load", "4.12 TB/s", "2.5 G additions/s"; absent where nothing was counted.
std::string amount_text(const ComparedSide& side);

/// Whether any result was compared with a float64 reference, and is not exactly that (a copy is).
bool has_errors(const ComparisonRecord& record);
/// "3.6e-04", "0.7 WRONG", "17,888 unwritten WRONG"
std::string error_text(const ComparedSide& side);
/// Against the first alternative; absent where a side computed something else.
std::string change_text(const Comparison& comparison);
/// "faster", "WRONG RESULT"
std::string verdict_text(const Comparison& comparison);
/// Of all that an alternative computed.
std::string largest_error_text(const ComparisonRecord& record, std::size_t alternative);

}  // namespace jitterscope
