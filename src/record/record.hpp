// Records as files: {"format": "jitterscope-record", "version": 2, "command": "run", …}, whichever command
// found them out. docs/record.schema.json describes them.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"
#include "record/records.hpp"
#include "selftest/proof.hpp"
#include "study/advice.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope {

/// The whole record, raw rounds and launches included. Numbers that are not finite are left out; everything
/// else reads back as it was, so that the text written from what was read is the same.
std::string write_record(const RunRecord& record);
std::string write_record(const ComparisonRecord& record);
std::string write_record(const MethodsRecord& record);
std::string write_record(const EnginesRecord& record);
std::string write_record(const ExplainRecord& record);
std::string write_record(const study::AdviceRecord& record);
std::string write_record(const study::LossScalingRecord& record);
std::string write_record(const PytorchRecord& record);
std::string write_record(const selftest::SelftestRecord& record);
std::string write_record(const DoctorReport& record);

using AnyRecord = std::variant<RunRecord, ComparisonRecord, MethodsRecord, EnginesRecord, ExplainRecord,
                               study::AdviceRecord, study::LossScalingRecord, PytorchRecord,
                               selftest::SelftestRecord, DoctorReport>;

/// Also what version 1 of `run` wrote, where what it lacks has its default, and the journal of a run that was
/// not finished. Throws UsageError, which begins
/// with `name_for_messages`, for what is no record, of a newer version, cut off or damaged.
AnyRecord read_record(std::string_view text, const std::string& name_for_messages);

/// The same for a run's; throws UsageError for that of another command, too.
RunRecord read_run_record(std::string_view text, const std::string& name_for_messages);

}  // namespace jitterscope
