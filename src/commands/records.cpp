#include "commands/records.hpp"

#include <fmt/format.h>

#include <variant>

#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/run_file.hpp"

namespace jitterscope {
namespace {

template <class Record>
AnyRecord read_as(const Json& document, const std::string& name) {
  Record record;
  read_fields(document, name, record);
  return record;
}

// Maps the command's name in a record to the function that reads it.
struct RecordType {
  std::string_view command;
  AnyRecord (*read)(const Json& document, const std::string& name);
};
constexpr RecordType kTypes[] = {
    {"run", read_as<RunRecord>},
    {"compare", read_as<ComparisonRecord>},
    {"methods", read_as<MethodsRecord>},
    {"engines", read_as<EnginesRecord>},
    {"explain", read_as<ExplainRecord>},
    {"advise", read_as<study::AdviceRecord>},
    {"loss-scaling", read_as<study::LossScalingRecord>},
    {"verify-pytorch", read_as<PytorchRecord>},
    {"selftest", read_as<selftest::SelftestRecord>},
    {"doctor", read_as<DoctorReport>},
    {"capture", read_as<CaptureRecord>},
    {"devices", read_as<DevicesRecord>},
    {"judge", read_as<JudgeRecord>},
    {"replay", read_as<ReplayRecord>},
    {"collectives", read_as<CollectivesRecord>},
    {"plan", read_as<ForecastRecord>},
    {"parallel-study", read_as<ParallelStudyRecord>},
};

}  // namespace

AnyRecord read_record(std::string_view text, const std::string& name_for_messages) {
  if (is_journal(text)) return read_journal(text, name_for_messages);
  const auto [document, command] = open_record(text, name_for_messages);
  for (const RecordType& type : kTypes) {
    if (type.command == command) return type.read(document, name_for_messages);
  }
  throw UsageError(fmt::format(
      "{}: `jitterscope {}` wrote this, but this version has no such command; use the version that wrote "
      "it",
      name_for_messages, command));
}

Text record_text(const AnyRecord& record, const ShownPage& shown) {
  return std::visit([&](const auto& each) { return record_text(each, shown); }, record);
}

std::vector<Plot> plots_of(const AnyRecord& record) {
  return std::visit([](const auto& each) { return report::plots_of(each); }, record);
}

const Plot& main_plot(std::span<const Plot> plots) {
  if (plots.empty()) throw UsageError("this record has nothing to draw, because nothing was measured");
  return plots.front();
}

ReportSection report_section(const AnyRecord& record) {
  const auto section_of = [&](const auto& each) {
    return report_section(each.environment, each.device.name, headline_of(each),
                          record_text(each, {.width = kSectionWidth, .is_html = true}),
                          record_text(each, {.width = kSectionWidth, .details = true, .is_html = true}),
                          report::plots_of(each));
  };
  return std::visit(section_of, record);
}

}  // namespace jitterscope
