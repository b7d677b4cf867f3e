// What `jitterscope run` prints: Markdown that reads well in a terminal.
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

/// One operation begins with a line to quote, a model with its total and its slowest layers; then findings,
/// failures, verification. Everything else by Page::details.
std::string run_table(const RunRecord& record, const Page& page = {});

// The parts of what `jitterscope run` prints; run_table puts them together. Each ends with a line break, or
// is empty where there is nothing to say.

/// What the sections are made from.
struct RunPage {
  const RunRecord& record;
  ConditionLabels labels;
  std::vector<std::string>
      names;                      ///< of the operations, by what sets them apart, in the order of the results
  std::vector<std::size_t> rows;  ///< indices of the results that tables show, in their order
  Page page;
};

/// Indices of all results, or of the slowest of them, the slowest first, by the first condition and the
/// number of calls.
std::vector<std::size_t> shown_rows(const RunRecord& record, const ConditionLabels& labels, const Page& page);

/// Why this device, where the user named none.
std::string device_note(const RunPage& run);
/// Device, clock and power, what the numbers are times of.
std::string run_header(const RunPage& run);

/// "698.9 µs ± 0.4 %", or that there is no interval.
std::string total_estimate_text(const NetworkTotal& total);
/// How much of a file is timed, where that is the smaller part; else empty.
std::string smaller_part_line(const RunPage& run);

/// For two operations or more, with the total of a model.
std::string several_operations_table(const RunPage& run);
/// For one operation: one line to quote, of all its calls where it has several, and a row for each condition.
std::string single_operation_table(const RunPage& run);

/// "103.5 µs ± 0.22 %", and that it is extrapolated where it is.
std::string time_at_reference_text(const TimeAtReferenceClock& at);
/// The times at --reference-clock, or why they are not known; empty where none was asked for.
std::string reference_clock_section(const RunPage& run);

/// "cudnn ConvFwd_eng38_k2=1", and ", stand-in" where it is not what PyTorch runs.
std::string engine_text(const Result& result);
inline constexpr std::string_view kStandInExplained =
    "stand-in: run here in another way than by PyTorch, which has kernels of its own for it; this is not "
    "PyTorch's time.";
/// For two operations or more: who runs each, in a sentence where it is one for all.
std::string engines_section(const RunPage& run);
/// Where they were traced.
std::string kernels_section(const RunPage& run);
/// Where launches were counted: beside the times, a row for each cache state.
std::string counters_section(const RunPage& run);
/// Why a part is not there that was asked for, each reason once: "No kernels of #1 and 3 more: …".
std::string shortfall_text(const RunPage& run, std::string_view part,
                           std::optional<Shortfall> Result::*missing);

/// Loops of launches, where counts were asked for.
std::string iterations_section(const RunPage& run);
/// The model's calls in their order beside the same operations alone.
std::string sequence_section(const RunPage& run);
/// A list of them by reason, with the share that they stand for; empty where there are none.
std::string untimed_text(const std::vector<UntimedOperator>& untimed,
                         const std::optional<Nanoseconds>& recorded_gpu_time, std::size_t width);
/// What a record holds but was not timed, and the notes of what was read.
std::string record_section(const RunPage& run);

/// "#5 layer1.0.conv1", or without a number where there is one operation.
std::string row_name(const RunPage& run, std::size_t row);
/// The causes, those with the largest effect first, with evidence and remedies, or in a line each.
std::string findings_section(const RunPage& run);
/// Failures, verification, precision that was missed, and how to get the raw data.
std::string run_notes(const RunPage& run);

}  // namespace jitterscope
