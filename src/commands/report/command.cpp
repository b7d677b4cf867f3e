#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "cli/invocation.hpp"
#include "cli/python.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "output/output_file.hpp"
#include "report/page.hpp"

namespace jitterscope::cli {
namespace {

struct ReportCommandFlags {
  std::vector<std::string> files;
  std::string output, plot;
};

constexpr const char* kReportExamples = R"(Examples:
  jitterscope report result.json -o result.html
  jitterscope report resnet18.json why.json --output monday.html
  jitterscope report result.json --plot result.svg
  jitterscope report monday.json tuesday.json wednesday.json --plot week.svg

Exit codes: 0 done, 2 a file is missing or not a record, 3 the drawing library is missing.)";

// Returns the runs beside each other: one plot of them all, and what differs. nullopt if there are not
// several runs, or if one of them has nothing in common with the first.
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
  return report_section(joint);
}

// Reads all records before it writes anything.
void report(const ReportCommandFlags& flags) {
  if (flags.output.empty() && flags.plot.empty()) {
    throw UsageError("name an output: -o FILE.html for a page, --plot FILE.png or FILE.svg for a picture");
  }
  std::vector<ReportSection> sections;
  std::vector<AnyRecord> records;
  for (const std::string& file : flags.files)
    records.push_back(read_record(read_text(file), file == "-" ? "standard input" : file));
  if (auto joint = joint_section(records, flags.files)) sections.push_back(*std::move(joint));
  for (const AnyRecord& record : records) sections.push_back(report_section(record));
  if (!flags.plot.empty()) {
    const PictureFormat format = picture_format(flags.plot);
    const std::string picture =
        draw_picture(main_plot(sections.front().plots), format, python_that_draws(drawing_interpreters()));
    OutputFile(flags.plot).commit(picture);
  }
  if (!flags.output.empty()) OutputFile(flags.output).commit(html_report(sections, vega_library()));
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto flags = std::make_shared<ReportCommandFlags>();
  CLI::App* command = app.add_subcommand("report", "draw records: a page with plots, or a picture");
  command->add_option("files", flags->files, "records of any command; - is standard input")->required();
  command->add_option(
      "-o,--output", flags->output,
      "write one page of all records to PATH or - (stdout): a single file that needs no network");
  command->add_option(
      "--plot", flags->plot,
      "write the main plot to PATH.png or PATH.svg (needs vl-convert-python): one plot of several runs that have "
      "something in common, else that of the first record");
  command->footer(kReportExamples);
  command->callback([flags] { report(*flags); });
}

}  // namespace jitterscope::cli
