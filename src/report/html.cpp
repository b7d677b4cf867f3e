#include "report/html.hpp"

#include <fmt/format.h>

#include "base/data_folders.hpp"
#include "base/file_text.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "output/record_text.hpp"
#include "report/marked_text.hpp"
#include "report/page_files.hpp"
#include "report/plots.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kTextWidth = 110;  // columns of what the command line prints
constexpr std::size_t kMostRows = 2000;  // of a table behind a plot

// What a record holds is text in the page, never markup.
std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

// Within a script element nothing but `<` could end it.
std::string script_json(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

std::string row(const std::vector<TableColumn>& columns, std::string_view element, auto&& text_of) {
  std::string made = "<tr>";
  for (const TableColumn& column : columns) {
    const char* of_number = column.align == Align::right ? " class=\"number\"" : "";
    made += fmt::format("<{0}{1}>{2}</{0}>", element, of_number, escaped(text_of(column)));
  }
  return made + "</tr>\n";
}

std::string html_table(const std::vector<TableColumn>& columns) {
  std::size_t rows = 0;
  for (const TableColumn& column : columns) rows = std::max(rows, column.cells.size());
  std::string made = "<div class=\"rows\"><table>\n<thead>";
  made +=
      row(columns, "th", [](const TableColumn& column) { return column.heading; }) + "</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(rows, kMostRows); ++i) {
    made += row(columns, "td", [&](const TableColumn& column) {
      return i < column.cells.size() ? column.cells[i] : std::string();
    });
  }
  made += "</tbody></table></div>\n";
  if (rows > kMostRows) {
    made += fmt::format("<p>{} of {} rows; the JSON record has them all.</p>\n", kMostRows, rows);
  }
  return made;
}

std::string plot_html(const Plot& plot, std::size_t number) {
  return fmt::format(
      "<h2>{}</h2>\n<p>{}</p>\n<div class=\"plot\" id=\"{}-{}\" role=\"img\" aria-label=\"{}\"></div>\n"
      "<script type=\"application/json\">{}</script>\n<details><summary>Table</summary>\n{}</details>\n",
      escaped(plot.title), escaped(plot.caption), escaped(plot.id), number, escaped(plot.title),
      script_json(plot.spec), html_table(plot.table));
}

// Where files went says nothing of what is on the page.
std::string without_files(std::string command_line) {
  for (const char* flag :
       {" --html", " --json", " --plot", " --csv", " --csv-launches", " --markdown", " --junit"}) {
    const std::string start = fmt::format("{} ", flag);
    const std::size_t begin = command_line.find(start);
    if (begin == std::string::npos) continue;
    const std::size_t value = begin + start.size();
    const bool is_quoted = value < command_line.size() && command_line[value] == '\'';
    const std::size_t end = is_quoted ? command_line.find('\'', value + 1) : command_line.find(' ', value);
    const std::size_t length = end == std::string::npos ? end : end - begin + (is_quoted ? 1 : 0);
    command_line.erase(begin, length);
  }
  return command_line;
}

// Where the program lies says nothing about what it found.
std::string heading_of(const std::string& command_line) {
  if (command_line.empty()) return "jitterscope";
  const std::size_t end = std::min(command_line.find(' '), command_line.size());
  const std::size_t slash = command_line.rfind('/', end);
  return slash == std::string::npos || slash > end ? command_line : command_line.substr(slash + 1);
}

const DataFiles& library_files() {
  static const DataFiles files{"report", "JITTERSCOPE_REPORT", ".js"};
  return files;
}

// Nothing but the file itself: a browser refuses every request that it would make.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:";

}  // namespace

ReportSection report_section(const AnyRecord& record) {
  const Environment& environment =
      std::visit([](const auto& each) -> const Environment& { return each.environment; }, record);
  const std::string& device =
      std::visit([](const auto& each) -> const std::string& { return each.device.name; }, record);
  ReportSection section;
  section.heading = without_files(heading_of(environment.command_line));
  for (const std::string& part : {device, environment.time, "jitterscope " + environment.tool_version}) {
    if (!part.empty()) section.where += (section.where.empty() ? "" : ", ") + part;
  }
  section.text = record_text(record, {.width = kTextWidth});
  section.plots = plots_of(record);
  return section;
}

std::string vega_library() {
  const auto file = library_files().find("vega");
  std::string text = file ? file_text(*file).text : std::string();
  if (text.empty()) {
    throw MissingError(
        "the library that draws reports, vega.js, is not beside this program: the archive and the wheel have it; in a source "
        "tree run scripts/setup plots and scripts/build release (or name its folder by $JITTERSCOPE_REPORT)");
  }
  return text;
}

std::string html_report(std::span<const ReportSection> sections, std::string_view vega) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"jitterscope {}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      kPolicy, version(), escaped(sections.empty() ? "jitterscope" : sections.front().heading),
      report::style_sheet());
  std::size_t plots = 0;
  for (const ReportSection& section : sections) {
    page += fmt::format("<section>\n<h1>{}</h1>\n<p>{}</p>\n<pre>{}</pre>\n", escaped(section.heading),
                        escaped(section.where), report::marked_text(escaped(section.text)));
    for (const Plot& plot : section.plots) page += plot_html(plot, ++plots);
    page += "</section>\n";
  }
  if (plots > 0) {
    page +=
        "<noscript><p>The plots need JavaScript; the tables hold the same numbers.</p></noscript>\n"
        "<!-- Vega, Vega-Lite and Vega-Embed: BSD-3-Clause, (c) University of Washington Interactive Data Lab -->\n<script>";
    page += vega;
    page += "</script>\n<script>\n";
    page += report::drawing_script();
    page += "</script>\n";
  }
  return page + "</body>\n</html>\n";
}

}  // namespace jitterscope
