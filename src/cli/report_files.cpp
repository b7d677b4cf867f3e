#include "cli/report_files.hpp"

#include <fmt/format.h>

#include <vector>

#include "cli/interpreter.hpp"
#include "report/html.hpp"
#include "report/picture.hpp"
#include "report/plots.hpp"

namespace jitterscope::cli {

void ReportFlags::add_to(CLI::App& command) {
  const CLI::Validator is_named([](const std::string& path) { return path.empty() ? "name a file" : ""; },
                                "");
  command
      .add_option("--html", html, "write a page with plots to PATH: one file, to be opened without a network")
      ->check(is_named);
  command.add_option("--plot", plot, "write the main plot to PATH.png or PATH.svg (needs vl-convert-python)")
      ->check(is_named);
}

ReportFiles::ReportFiles(const ReportFlags& flags) : plot_name_(flags.plot) {
  if (!flags.html.empty()) {
    if (flags.html == "-") {
      throw UsageError(
          "--html: name a file; to standard output goes what 'jitterscope report RECORD -o -' writes");
    }
    vega_ = vega_library();
    html_.emplace(flags.html);
  }
  if (!plot_name_.empty()) {
    picture_format(plot_name_);
    python_ = python_that_draws(drawing_interpreters());
    plot_.emplace(plot_name_);
  }
}

void ReportFiles::write(std::span<const AnyRecord> records) {
  if (!html_ && !plot_) return;
  std::vector<ReportSection> sections;
  for (const AnyRecord& record : records) sections.push_back(report_section(record));
  if (html_) html_->commit(html_report(sections, vega_));
  if (!plot_) return;
  plot_->commit(draw_picture(main_plot(sections.front().plots), picture_format(plot_name_), python_));
}

}  // namespace jitterscope::cli
