// Prints a run as Markdown that reads well in a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Begins with a line to quote for one operation, or with the total and the slowest layers of a model.
/// Findings, failures and verification follow; everything else only with Page::details.
Text run_table(const RunRecord& record, const Page& page = {});

// Below: the parts of run_table. Each ends with a line break, or is empty if it has nothing to say.

/// Data from which the sections are made.
struct RunPage {
  const RunRecord& record;
  ConditionLabels labels;
  std::vector<std::string> names;  ///< names of the operations, in the order of the results
  std::vector<std::size_t> rows;   ///< indices of the results in the tables, in the order shown
  Page page;
};

/// Returns indices of all results, or of the slowest first by their time in the first condition times their
/// number of calls.
std::vector<std::size_t> shown_rows(const RunRecord& record, const ConditionLabels& labels, const Page& page);

/// Says why this device was chosen if the user named none.
Text device_note(const RunPage& run);
/// Names the device, its clock and power, and explains what the times are of.
Text run_header(const RunPage& run);

/// Returns "698.9 µs ± 0.4 %", or says that there is no interval.
std::string total_estimate_text(const NetworkTotal& total);
/// Says how much of a file is timed if that is the smaller part; else empty.
Text smaller_part_line(const RunPage& run);

/// Says in one sentence what to work on; empty for other records than a network's. Defined in
/// where_to_work.cpp.
Text advice_line(const RunPage& run);
/// Prints a network's time by kind, and its parts by what they could save.
Text where_to_work_section(const RunPage& run);

/// Prints two or more operations, with the total of a model.
Text several_operations_table(const RunPage& run);
/// Names the operations that are faster cold than warm, beyond their intervals, and says why that is; empty
/// if none is.
Text cold_below_warm_line(const RunPage& run);
/// Prints one operation: a line to quote, for all its calls if it has several, and a row for each condition.
Text single_operation_table(const RunPage& run);

/// Returns "103.5 µs ± 0.22 %", and says so if it is extrapolated.
std::string time_at_reference_text(const TimeAtReferenceClock& at);
/// Gives the times at --reference-clock, or why they are not known; empty if no clock was asked for.
Text reference_clock_section(const RunPage& run);

/// Returns "cudnn ConvFwd_eng38_k2=1", with ", stand-in" if PyTorch runs something else.
std::string engine_text(const Result& result);
inline constexpr std::string_view kStandInExplained =
    "stand-in: PyTorch has kernels of its own for this; jitterscope ran others, so this is not PyTorch's time.";
/// Says what runs each of two or more operations, in one sentence if it is the same for all.
Text engines_section(const RunPage& run);
/// Lists the kernels, if they were traced.
Text kernels_section(const RunPage& run);
/// Prints the hardware counters beside the times, a row for each cache state, if launches were counted.
Text counters_section(const RunPage& run);
/// Says why a requested part is missing, each reason once: "No kernels of #1 and 3 more: …".
Text shortfall_text(const RunPage& run, std::string_view part, std::optional<Shortfall> Result::*missing);

/// Prints loops of launches, if numbers of iterations were asked for.
Text iterations_section(const RunPage& run);
/// Prints the model's calls in order beside the same operations alone.
Text sequence_section(const RunPage& run);
/// Lists the operators by reason, with their share of the recorded time; empty if there are none.
Text untimed_text(const std::vector<UntimedOperator>& untimed,
                  const std::optional<Nanoseconds>& recorded_gpu_time, std::size_t width);
/// Lists what a record holds but was not timed, and the notes on what was read.
Text record_section(const RunPage& run);

/// Returns "#5 layer1.0.conv1"; without a number if there is one operation.
std::string row_name(const RunPage& run, std::size_t row);
/// Lists causes, the largest effect first, with evidence and remedies, or in a line each.
Text findings_section(const RunPage& run);
/// Lists failures, verification and missed precision, and says how to get the raw data.
Text run_notes(const RunPage& run);

}  // namespace jitterscope
