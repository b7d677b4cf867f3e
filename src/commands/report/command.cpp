#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/names.hpp"
#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "report/page.hpp"

namespace jitterscope::cli {
namespace {

struct ReportCommandFlags {
  std::vector<std::string> files;
  DrawingFlags drawn;
};

constexpr const char* kReportExamples = R"(Examples:
  jitterscope report result.json -o result.html
  jitterscope report resnet18.json why.json --output monday.html
  jitterscope report result.json --plot result.svg
  jitterscope report monday.json tuesday.json wednesday.json --plot week.svg

Exit codes: 0 done, 2 a file is missing or not a record, 3 the drawing library is missing.)";

// Returns true for add beside relu, or a function beside another: they are no repetitions of each other.
bool is_of_other_work(const Comparison& comparison) {
  const auto kind = [](const ComparedSide& side) {
    const std::string name = to_string(side.subject);
    return name.substr(0, name.find_first_of(":("));
  };
  return kind(comparison.first) != kind(comparison.second);
}

// Returns the runs beside each other: one plot of them all, and what differs. nullopt if there are not
// several runs, or if one of them has nothing in common with the first or is of other work.
std::optional<ReportSection> joint_section(const std::vector<AnyRecord>& records,
                                           const std::vector<std::string>& files) {
  std::vector<RunRecord> runs;
  for (const AnyRecord& record : records) {
    if (const auto* run = std::get_if<RunRecord>(&record)) runs.push_back(*run);
  }
  if (runs.size() < 2 || runs.size() < records.size()) return std::nullopt;
  ComparisonRecord joint;
  joint.environment = runs.back().environment;
  joint.environment.command_line = "jitterscope compare " + joined(files, " ");
  try {
    compare_files_of(runs, files, joint);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  if (joint.totals.empty() && std::ranges::any_of(joint.comparisons, is_of_other_work)) return std::nullopt;
  return report_section(joint);
}

// Reads all records before it writes anything.
void report(const ReportCommandFlags& flags) {
  flags.drawn.check();
  std::vector<ReportSection> sections;
  std::vector<AnyRecord> records;
  for (const std::string& file : flags.files)
    records.push_back(read_record(read_text(file), file == "-" ? "standard input" : file));
  if (auto joint = joint_section(records, flags.files)) sections.push_back(*std::move(joint));
  for (const AnyRecord& record : records) sections.push_back(report_section(record));
  flags.drawn.write(sections);
}

}  // namespace

void add_report_command(CLI::App& app) {
  const auto [command, flags] = declare_command<ReportCommandFlags>(
      app, "report", "draw records: a page with plots, or a picture", kReportExamples,
      [](const ReportCommandFlags& typed, const CLI::App&) { report(typed); });
  command.add_option("files", flags.files, "records of any command; - is standard input")->required();
  flags.drawn.add_to(
      command, "write one page of all records to PATH or - (stdout): a single file that needs no network",
      "write the main plot to PATH.png or PATH.svg (needs vl-convert-python): one plot of several runs that "
      "have something in common, else that of the first record");
}

}  // namespace jitterscope::cli
