#include "record/record.hpp"

#include <fmt/format.h>

#include "record/describe_advice.hpp"
#include "record/describe_comparison.hpp"
#include "record/describe_doctor.hpp"
#include "record/describe_engines.hpp"
#include "record/describe_explanation.hpp"
#include "record/describe_loss_scaling.hpp"
#include "record/describe_methods.hpp"
#include "record/describe_pytorch.hpp"
#include "record/describe_selftest.hpp"
#include "record/envelope.hpp"
#include "record/journal.hpp"
#include "record/run_document.hpp"

namespace jitterscope {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::differs: return "differs";
    case Verdict::unknown: return "unknown";
  }
  return "";
}

namespace {

// As each command is called on the command line.
template <class Record>
constexpr std::string_view kCommand = "";
template <>
constexpr std::string_view kCommand<ComparisonRecord> = "compare";
template <>
constexpr std::string_view kCommand<MethodsRecord> = "methods";
template <>
constexpr std::string_view kCommand<EnginesRecord> = "engines";
template <>
constexpr std::string_view kCommand<ExplainRecord> = "explain";
template <>
constexpr std::string_view kCommand<study::AdviceRecord> = "advise";
template <>
constexpr std::string_view kCommand<study::LossScalingRecord> = "loss-scaling";
template <>
constexpr std::string_view kCommand<PytorchRecord> = "verify-pytorch";
template <>
constexpr std::string_view kCommand<selftest::SelftestRecord> = "selftest";
template <>
constexpr std::string_view kCommand<DoctorReport> = "doctor";

template <class Record>
std::string write_any(const Record& record) {
  return write_envelope(kCommand<Record>, record);
}

using OtherRecord =
    std::variant<ComparisonRecord, MethodsRecord, EnginesRecord, ExplainRecord, study::AdviceRecord,
                 study::LossScalingRecord, PytorchRecord, selftest::SelftestRecord, DoctorReport>;

template <class... Records>
AnyRecord read_as(std::variant<Records...>*, const std::string& command, const Json& document,
                  const std::string& name) {
  AnyRecord record;
  const bool known =
      ((command == kCommand<Records> && (record = read_envelope<Records>(document, name), true)) || ...);
  if (!known) {
    throw UsageError(fmt::format(
        "{}: `jitterscope {}` wrote this, a command that this version does not have; take the one that wrote it",
        name, command));
  }
  return record;
}

}  // namespace

std::string write_record(const ComparisonRecord& record) { return write_any(record); }
std::string write_record(const MethodsRecord& record) { return write_any(record); }
std::string write_record(const EnginesRecord& record) { return write_any(record); }
std::string write_record(const ExplainRecord& record) { return write_any(record); }
std::string write_record(const study::AdviceRecord& record) { return write_any(record); }
std::string write_record(const study::LossScalingRecord& record) { return write_any(record); }
std::string write_record(const PytorchRecord& record) { return write_any(record); }
std::string write_record(const selftest::SelftestRecord& record) { return write_any(record); }
std::string write_record(const DoctorReport& record) { return write_any(record); }

AnyRecord read_record(std::string_view text, const std::string& name_for_messages) {
  if (is_journal(text)) return read_journal(text, name_for_messages);
  refuse_other_files(text, name_for_messages);
  const Json document = parse_document(text, name_for_messages);
  const std::string command = command_of(document, name_for_messages);
  if (command == kRunCommand) return read_run_document(document, name_for_messages);
  return read_as(static_cast<OtherRecord*>(nullptr), command, document, name_for_messages);
}

}  // namespace jitterscope
