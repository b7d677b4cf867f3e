#include "cli/output_flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "cli/python.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "output/text.hpp"
#include "report/page.hpp"

namespace jitterscope::cli {
namespace {

std::optional<std::size_t> parse_top(const std::string& text) {
  constexpr std::size_t kMost = 1'000'000;
  if (text == "all") return kMost;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > kMost) {
    throw UsageError(fmt::format("--top {}: write a number of operations, or all", text));
  }
  return number;
}

FindingsShown parse_findings(const std::string& word) {
  const std::vector<std::string> known = {"none", "top", "all"};
  const auto found = std::ranges::find(known, word);
  if (found == known.end()) {
    throw UsageError(fmt::format("--findings: unknown word '{}'{}", word, suggestion(word, known)));
  }
  return static_cast<FindingsShown>(found - known.begin());
}

}  // namespace

void PageFlags::add_to(CLI::App& command) {
  // Words are checked when they are read: `shown` may follow minutes of measuring.
  command
      .add_option("--top", top,
                  "show this many operations, the slowest first, or all (default: 10 of a model, else all)")
      ->each([](const std::string& text) { parse_top(text); });
  command
      .add_option("--findings", findings,
                  "findings to show: none, top (the three with the largest effect, a line each) or all, with "
                  "evidence and remedies (default: top)")
      ->each([](const std::string& word) { parse_findings(word); });
  command.add_flag(
      "--details", details,
      "show everything known about each operation, all findings, and an explanation of the words");
}

ShownPage PageFlags::shown() const {
  ShownPage page{.width = page_width(), .details = details};
  if (!top.empty()) page.top = parse_top(top);
  if (!findings.empty()) page.findings = parse_findings(findings);
  return page;
}

std::optional<OutputFile> output_file(const std::string& path) {
  return path.empty() ? std::nullopt : std::optional<OutputFile>(std::in_place, path);
}

bool takes_standard_output(const char* flags, const std::vector<std::string>& paths) {
  const auto is_stdout = [](const std::string& path) { return path == "-" || path == "/dev/stdout"; };
  const auto count = std::ranges::count_if(paths, is_stdout);
  if (count > 1) throw UsageError(fmt::format("{} would mix on stdout: write all but one to files", flags));
  return count > 0;
}

void ReportFlags::add_to(CLI::App& command) {
  const CLI::Validator is_named([](const std::string& path) { return path.empty() ? "name a file" : ""; },
                                "");
  command.add_option("--html", html, "write a page with plots to PATH: a single file that needs no network")
      ->check(is_named);
  command.add_option("--plot", plot, "write the main plot to PATH.png or PATH.svg (needs vl-convert-python)")
      ->check(is_named);
}

ReportFiles::ReportFiles(const ReportFlags& flags) : plot_name_(flags.plot) {
  if (!flags.html.empty()) {
    if (flags.html == "-") {
      throw UsageError(
          "--html needs a file; 'jitterscope report RECORD -o -' writes a page to standard output");
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

void DrawingFlags::add_to(CLI::App& command, const char* output_help, const char* plot_help) {
  command.add_option("-o,--output", output, output_help);
  command.add_option("--plot", plot, plot_help);
}

void DrawingFlags::check() const {
  if (!output.empty() || !plot.empty()) return;
  throw UsageError("name an output: -o FILE.html for a page, --plot FILE.png or FILE.svg for a picture");
}

void DrawingFlags::write(std::span<const ReportSection> sections) const {
  if (!plot.empty()) {
    const Plot& main = main_plot(sections.front().plots);
    const PictureFormat format = picture_format(plot);
    OutputFile(plot).commit(draw_picture(main, format, python_that_draws(drawing_interpreters())));
  }
  if (!output.empty()) OutputFile(output).commit(html_report(sections, vega_library()));
}

void RecordFlags::add_to(CLI::App& command, const char* json_help) {
  command.add_option("--json", json, json_help);
  ReportFlags::add_to(command);
}

RecordFiles::RecordFiles(const RecordFlags& flags, const std::string& csv)
    : json_(output_file(flags.json)), csv_(output_file(csv)), report_(flags) {
  takes_standard_output("--json and --csv", {flags.json, csv});
}

namespace {

// Returns why the record cannot be a baseline; empty if it can.
std::string problem_of(const RunRecord& record, ExitCode exit_code) {
  if (record.interrupted) return "it was interrupted";
  if (exit_code == ExitCode::check_failed) return "a result is wrong";
  const auto has_time = [](const RunEntry& entry) { return !entry.result.measurements.empty(); };
  return std::ranges::any_of(record.entries, has_time) ? "" : "nothing was timed";
}

}  // namespace

void HistoryFlags::add_to(CLI::App& command) {
  command
      .add_option(
          "--history", folder,
          "folder of the records (default: the nearest .jitterscope/ in this folder or above it, else a "
          "new one here)")
      ->type_name("DIR");
}

History HistoryFlags::history() const {
  if (!folder.empty()) return History(folder);
  // Makes the path relative, as a user would type it here.
  const std::filesystem::path here = std::filesystem::current_path();
  return History(history_folder(here).lexically_proximate(here));
}

RecordToSave::RecordToSave(std::string name, const HistoryFlags& flags)
    : name_(std::move(name)), history_(flags.history()) {
  history_.check_can_add(name_);
}

void RecordToSave::save(const RunRecord& record, ExitCode exit_code) const {
  if (const std::string problem = problem_of(record, exit_code); !problem.empty()) {
    fmt::print(stderr, "jitterscope: not saved as {}: {}\n", name_, problem);
    return;
  }
  const HistoryEntry entry = history_.add(name_, record);
  fmt::print(stderr, "jitterscope: saved as {} in {}\n", entry.text(), one_line(history_.folder().string()));
}

}  // namespace jitterscope::cli
