// The parts of what `jitterscope run` prints; run_table puts them together. Each ends with a line break, or
// is empty where there is nothing to say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"
#include "output/condition_labels.hpp"

namespace jitterscope {

/// Lines and tables are kept to this where they can be.
inline constexpr std::size_t kPageWidth = 120;

/// Device, clock and power, what the numbers are times of.
std::string run_header(const RunRecord& record, const ConditionLabels& labels);

/// For two operations or more. `names` sets them apart, in the order of the results.
std::string several_operations_table(const RunRecord& record, const ConditionLabels& labels,
                                     const std::vector<std::string>& names);
/// For one operation: a row per condition.
std::string single_operation_table(const RunRecord& record, const ConditionLabels& labels);

/// "cudnn ConvFwd_eng38_k2=1", and ", stand-in" where it is not what PyTorch runs.
std::string engine_text(const Result& result);
inline constexpr std::string_view kStandInExplained =
    "stand-in: run here in another way than by PyTorch, which has kernels of its own for it; this is not "
    "PyTorch's time.";
/// For two operations or more: who runs each.
std::string engines_section(const RunRecord& record, const std::vector<std::string>& names);
/// Where they were traced.
std::string kernels_section(const RunRecord& record);

/// Loops of launches, where counts were asked for.
std::string iterations_section(const RunRecord& record, const std::vector<std::string>& names);
/// The model's calls in their order beside the same operations alone.
std::string sequence_section(const RunRecord& record, const ConditionLabels& labels,
                             const std::vector<std::string>& names);
/// A table of them, with the share that they stand for; empty where there are none.
std::string untimed_text(const std::vector<UntimedOperator>& untimed,
                         const std::optional<Nanoseconds>& recorded_gpu_time);
/// What a record holds but was not timed, and the notes of what was read.
std::string record_section(const RunRecord& record);

/// Findings with remedies, failures, verification, and how to get the raw data.
std::string run_notes(const RunRecord& record, const ConditionLabels& labels,
                      const std::vector<std::string>& names);

}  // namespace jitterscope
