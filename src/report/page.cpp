#include "report/page.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "output/text.hpp"
#include "report/drawing.hpp"
#include "report/page_files.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kMostRows = 2000;  // limit for a table behind a plot

// Escapes a record's text, so that the page never reads it as markup.
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

// Escapes `<`, the only character that can end a script element.
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

// Removes the names of output files: they say nothing about the page's content.
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

// Removes the program's folder from the command line.
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

// Allows nothing but the file itself: the browser refuses every request of the page.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:";

}  // namespace

ReportSection report_section(const Environment& environment, const std::string& device, std::string text,
                             std::vector<Plot> plots) {
  ReportSection section{
      without_files(heading_of(environment.command_line)), {}, std::move(text), std::move(plots)};
  for (const std::string& part : {device, environment.time, "jitterscope " + environment.tool_version}) {
    if (!part.empty()) section.where += (section.where.empty() ? "" : ", ") + part;
  }
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

namespace jitterscope::report {
namespace {

constexpr std::string_view kBold = "**";

// Makes text between two marks bold. An odd number of marks means that a name contains some: nothing changes.
std::string with_bold(std::string_view text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(kBold); at != text.npos; at = text.find(kBold, at + kBold.size())) {
    places.push_back(at);
  }
  if (places.size() % 2 != 0) return std::string(text);
  std::string made;
  std::size_t done = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    made += text.substr(done, places[i] - done);
    made += i % 2 == 0 ? "<strong>" : "</strong>";
    done = places[i] + kBold.size();
  }
  return made + std::string(text.substr(done));
}

// Keeps the cell's width: spaces on its padded side replace the marks.
std::string marked_cell(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '\\' && i + 1 < cell.size()) ++i;
    text += cell[i];
  }
  std::size_t spare = cell.size() - text.size();
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  const std::string_view word =
      begin == text.npos ? std::string_view() : std::string_view(text).substr(begin, end + 1 - begin);
  if (word.size() > 2 * kBold.size() && word.starts_with(kBold) && word.ends_with(kBold)) {
    const std::string bold = with_bold(word);
    if (bold != word) spare += 2 * kBold.size();
    text.replace(begin, word.size(), bold);
  }
  return begin != text.npos && begin > 1 ? std::string(spare, ' ') + text : text + std::string(spare, ' ');
}

std::string marked_row(std::string_view line) {
  std::string made;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i + 1 < line.size() && line[i] == '\\') {
      ++i;
    } else if (i == line.size() || line[i] == '|') {
      made += marked_cell(line.substr(begin, i - begin));
      if (i < line.size()) made += '|';
      begin = i + 1;
    }
  }
  return made;
}

}  // namespace

std::string marked_text(std::string_view escaped) {
  std::string made, paragraph;  // bold may continue on the next line of a paragraph
  const auto end_paragraph = [&] {
    made += with_bold(paragraph);
    paragraph.clear();
  };
  while (!escaped.empty()) {
    const std::size_t end = std::min(escaped.find('\n'), escaped.size() - 1) + 1;
    const std::string_view line = escaped.substr(0, end);
    escaped.remove_prefix(end);
    if (line.starts_with('|')) {
      end_paragraph();
      const bool is_whole = line.ends_with('\n');
      made += marked_row(is_whole ? line.substr(0, line.size() - 1) : line);
      if (is_whole) made += '\n';
    } else {
      paragraph += line;
      if (line == "\n") end_paragraph();
    }
  }
  end_paragraph();
  return made;
}

}  // namespace jitterscope::report

namespace jitterscope {
namespace {

// The background is white, because a picture is shown on pages of any colour.
constexpr const char* kScript = R"(
import json, sys, vl_convert
spec = json.load(sys.stdin)
spec["background"] = "white"
spec.pop("$schema")
spec["padding"] = {"left": 12, "top": 12, "right": 24, "bottom": 12}
if sys.argv[1] == "png":
    sys.stdout.buffer.write(vl_convert.vegalite_to_png(json.dumps(spec), vl_version="6.4", scale=2))
else:
    sys.stdout.write(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4"))
)";

// Wraps the title, because an operation's name may be longer than the picture is wide.
Json title_lines(const std::string& title) {
  constexpr std::size_t kLetters = 105;
  Json lines = Json::array();
  std::istringstream text(wrapped(title, kLetters));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

PictureFormat picture_format(const std::string& file) {
  if (file.ends_with(".png")) return PictureFormat::png;
  if (file.ends_with(".svg")) return PictureFormat::svg;
  throw UsageError(fmt::format("--plot {}: a picture's name ends in .png or .svg", file));
}

std::string python_that_draws(const std::vector<std::string>& pythons) {
  for (const std::string& python : pythons) {
    if (run_subprocess({"/usr/bin/env", python, "-c", "import vl_convert"}, {}).exit_code == 0) return python;
  }
  throw MissingError(fmt::format(
      "--plot needs vl-convert, which draws pictures, and no Python has it ({}): run scripts/setup plots in the "
      "source tree, or {} -m pip install vl-convert-python, or name a Python that has it by $JITTERSCOPE_PYTHON; "
      "--html needs nothing",
      joined(pythons), pythons.front()));
}

std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python) {
  const std::string word = format == PictureFormat::png ? "png" : "svg";
  SubprocessLimits limits;
  Json spec = plot.spec;
  spec["title"] = {{"text", title_lines(plot.title)},
                   {"anchor", "start"},
                   {"frame", "bounds"},
                   {"offset", 14},
                   {"limit", report::kPlotWidth}};
  limits.input = spec.dump(-1, ' ', false, Json::error_handler_t::replace);
  const SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", python, "-c", kScript, word}, limits);
  if (outcome.exit_code != 0 || outcome.output.empty()) {
    throw FailedError(fmt::format("the picture could not be drawn: {}", outcome.errors));
  }
  return outcome.output;
}

}  // namespace jitterscope
