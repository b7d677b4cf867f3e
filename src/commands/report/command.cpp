#include <memory>
#include <optional>

#include <fmt/format.h>

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

Exit codes: 0 done, 2 a file is not there or is no record, 3 what draws is not there.)";

// Reads all records before it writes anything.
void report(const ReportCommandFlags& flags) {
  if (flags.output.empty() && flags.plot.empty()) {
    throw UsageError("where shall it go? -o FILE.html for a page, --plot FILE.png or FILE.svg for a picture");
  }
  std::vector<ReportSection> sections;
  for (const std::string& file : flags.files) {
    sections.push_back(report_section(read_record(read_text(file), file == "-" ? "standard input" : file)));
  }
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
  CLI::App* command = app.add_subcommand(
      "report", "draw what commands found out: a page with plots, or a picture, from records");
  command->add_option("files", flags->files, "records, of any command; - is standard input")->required();
  command->add_option(
      "-o,--output", flags->output,
      "write one page of them all to PATH or - (stdout): one file, to be opened without a network");
  command->add_option("--plot", flags->plot,
                      "write the main plot of the first to PATH.png or PATH.svg (needs vl-convert-python)");
  command->footer(kReportExamples);
  command->callback([flags] { report(*flags); });
}

}  // namespace jitterscope::cli
