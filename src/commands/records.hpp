// Any command's record: read from its file, as text, and as plots. Each type is described in its command's
// folder.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "commands/advise/record.hpp"
#include "commands/compare/record.hpp"
#include "commands/doctor/record.hpp"
#include "commands/engines/record.hpp"
#include "commands/explain/record.hpp"
#include "commands/methods/record.hpp"
#include "commands/run/record.hpp"
#include "commands/selftest/record.hpp"
#include "commands/study/loss_scaling_record.hpp"
#include "commands/verify_pytorch/record.hpp"
#include "report/page.hpp"

namespace jitterscope {

using AnyRecord = std::variant<RunRecord, ComparisonRecord, MethodsRecord, EnginesRecord, ExplainRecord,
                               study::AdviceRecord, study::LossScalingRecord, PytorchRecord,
                               selftest::SelftestRecord, DoctorReport>;

/// Of a file: {"format": "jitterscope-record", "version": 2, "command": "run", …}, as docs/record.schema.json
/// describes it, or the journal of a run that was not finished. Throws UsageError, which begins with
/// `name_for_messages`, for what is no record, of a newer version, cut off or damaged.
AnyRecord read_record(std::string_view text, const std::string& name_for_messages);

/// As the command that wrote it printed it.
std::string record_text(const AnyRecord& record, const ShownPage& shown);

/// What can be drawn of it, the main plot first. Empty where a record is words alone, as of a doctor that
/// measured nothing.
std::vector<Plot> plots_of(const AnyRecord& record);
/// The first: throws UsageError where there is none.
const Plot& main_plot(std::span<const Plot> plots);

/// On a page: the command line above it, its text and its plots.
ReportSection report_section(const AnyRecord& record);

}  // namespace jitterscope
