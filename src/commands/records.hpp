// Reads, prints and draws any command's record. The commands' folders describe the types.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "commands/advise/record.hpp"
#include "commands/capture/record.hpp"
#include "commands/collectives/record.hpp"
#include "commands/compare/record.hpp"
#include "commands/devices/record.hpp"
#include "commands/doctor/record.hpp"
#include "commands/engines/record.hpp"
#include "commands/explain/record.hpp"
#include "commands/judge/record.hpp"
#include "commands/methods/record.hpp"
#include "commands/plan/record.hpp"
#include "commands/replay/record.hpp"
#include "commands/run/record.hpp"
#include "commands/selftest/record.hpp"
#include "commands/study/loss_scaling_record.hpp"
#include "commands/study/parallel_record.hpp"
#include "commands/verify_pytorch/record.hpp"
#include "report/page.hpp"

namespace jitterscope {

using AnyRecord =
    std::variant<RunRecord, ComparisonRecord, MethodsRecord, EnginesRecord, ExplainRecord,
                 study::AdviceRecord, study::LossScalingRecord, PytorchRecord, selftest::SelftestRecord,
                 DoctorReport, CaptureRecord, DevicesRecord, JudgeRecord, ReplayRecord, CollectivesRecord,
                 ForecastRecord, ParallelStudyRecord>;

/// Reads {"format": "jitterscope-record", "version": 2, "command": "run", …}, as described in
/// docs/record.schema.json, or the journal of an unfinished run. Throws UsageError, which begins with
/// `name_for_messages`, if the text is no record, of another version, cut off or damaged.
AnyRecord read_record(std::string_view text, const std::string& name_for_messages);

/// Returns the text that the command printed.
Text record_text(const AnyRecord& record, const ShownPage& shown);

/// Returns the record's plots, the main plot first. Empty if it has only words, such as a doctor's that
/// measured nothing.
std::vector<Plot> plots_of(const AnyRecord& record);
/// Returns the first plot. Throws UsageError if there is none.
const Plot& main_plot(std::span<const Plot> plots);

/// Returns the record's section of a page: the command line, its text and its plots.
ReportSection report_section(const AnyRecord& record);

}  // namespace jitterscope
