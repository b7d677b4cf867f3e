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

std::string plot_html(const Plot& plot, std::size_t number) {
  return fmt::format(
      "<h2>{}</h2>\n<p>{}</p>\n<div class=\"plot\" id=\"{}-{}\" role=\"img\" aria-label=\"{}\"></div>\n"
      "<script type=\"application/json\">{}</script>\n<details><summary>Table</summary>\n{}</details>\n",
      breakable_html(plot.title), escaped_html(plot.caption), escaped_html(plot.id), number,
      escaped_html(plot.title), script_json(plot.spec), html_table(plot.table));
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

std::string title_of(const ReportSection& section) {
  return section.head.number.empty() ? section.command : section.head.number + ", " + section.head.subject;
}

std::string head_html(const ReportSection& section) {
  const Headline& head = section.head;
  const std::string& subject = head.subject.empty() ? section.command : head.subject;
  std::string html = fmt::format("<h1>{}</h1>\n", breakable_html(one_line(subject)));
  if (!head.number.empty() || !head.error.empty()) {
    html += fmt::format("<p class=\"headline\"><strong>{}</strong> {}</p>\n",
                        escaped_html(one_line(head.number)), escaped_html(one_line(head.error)));
  }
  html += html_marks(head.marks);
  if (!section.command.empty())
    html +=
        fmt::format("<p class=\"command\"><code>{}</code></p>\n", escaped_html(one_line(section.command)));
  return html;
}

// Allows nothing but the file itself: the browser refuses every request of the page.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:";

}  // namespace

ReportSection report_section(const Environment& environment, const std::string& device, Headline head,
                             Text text, Text details, std::vector<Plot> plots) {
  head.marks.insert(head.marks.end(), {device, environment.time, "jitterscope " + environment.tool_version});
  if (details.lines() == text.lines()) details = Text();
  return {without_files(heading_of(environment.command_line)), std::move(head), std::move(text),
          std::move(details), std::move(plots)};
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
      kPolicy, version(), escaped_html(sections.empty() ? "jitterscope" : title_of(sections.front())),
      report::style_sheet());
  std::size_t plots = 0;
  for (const ReportSection& section : sections) {
    page += "<section>\n" + head_html(section) + html_of(section.text);
    for (const Plot& plot : section.plots) page += plot_html(plot, ++plots);
    if (!section.details.empty()) {
      page += fmt::format("<details class=\"all\"><summary>All that is known</summary>\n{}</details>\n",
                          html_of(section.details));
    }
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

namespace jitterscope {
namespace {

// The background is white, because a picture is shown on pages of any colour.
constexpr const char* kScript = R"(
import json, sys, vl_convert
spec = json.load(sys.stdin)
spec["background"] = "white"
spec.pop("$schema")
if sys.argv[1] == "png":
    sys.stdout.buffer.write(vl_convert.vegalite_to_png(json.dumps(spec), vl_version="6.4", scale=2))
else:
    sys.stdout.write(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4"))
)";

// A reader's fonts may be wider than those of vl-convert, for which it lays a picture out: a letter of 12
// pixels then has kWide instead of kUsual.
constexpr double kWide = 8.0, kUsual = 6.5;

// Wraps the title, because an operation's name may be longer than the picture is wide.
Json title_lines(const std::string& title, double width) {
  const auto letters = static_cast<std::size_t>(width / (kWide * 13 / 12));
  Json lines = Json::array();
  std::istringstream text(wrapped(title, letters));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Returns the longest name beside the rows of a view, in letters.
std::size_t longest_name(const Json& view) {
  std::size_t longest = 0;
  for (const char* parts : {"layer", "vconcat"}) {
    for (const Json& part : view.value(parts, Json::array())) longest = std::max(longest, longest_name(part));
  }
  const Json y = view.value("encoding", Json::object()).value("y", Json::object());
  if (y.value("type", "") != "nominal") return longest;
  const Json axis = y.value("axis", Json());
  const auto most = static_cast<std::size_t>(
      axis.is_object() ? axis.value("labelLimit", double{report::kPlotWidth}) / kUsual : report::kPlotWidth);
  const Json sort = y.value("sort", Json());
  if (sort.is_array()) {
    for (const Json& name : sort) longest = std::max(longest, display_width(name.get<std::string>()));
    return std::min(longest, most);
  }
  const Json rows = view.value("data", Json::object()).value("values", Json::array());
  for (const Json& row : rows) {
    const auto name = row.find(y["field"].get<std::string>());
    if (name != row.end() && name->is_string())
      longest = std::max(longest, display_width(name->get<std::string>()));
  }
  return std::min(longest, most);
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
  constexpr double kMargin = 12.0, kRight = 24.0;
  const double left = kMargin + (kWide - kUsual) * static_cast<double>(longest_name(plot.spec));
  spec["title"] = {{"text", title_lines(plot.title, report::kPlotWidth - left - kRight)},
                   {"anchor", "start"},
                   {"frame", "bounds"},
                   {"offset", 14}};
  spec["padding"] = {{"left", left}, {"top", kMargin}, {"right", kRight}, {"bottom", kMargin}};
  limits.input = spec.dump(-1, ' ', false, Json::error_handler_t::replace);
  const SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", python, "-c", kScript, word}, limits);
  if (outcome.exit_code != 0 || outcome.output.empty()) {
    throw FailedError(fmt::format("the picture could not be drawn: {}", outcome.errors));
  }
  return outcome.output;
}

}  // namespace jitterscope
