// A page that shows records: one file, which asks for nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// One record on a page.
struct ReportSection {
  std::string heading;      ///< what was done: the command line
  std::string where;        ///< device, time, version
  std::string text;         ///< what the command line prints of it
  std::vector<Plot> plots;  ///< the main one first
};
/// Of a record's environment, the name of its device, what the command line printed, and its plots.
ReportSection report_section(const Environment& environment, const std::string& device, std::string text,
                             std::vector<Plot> plots);
/// Columns of that text.
inline constexpr std::size_t kSectionWidth = 110;

/// The library that draws the plots, Vega with Vega-Lite and Vega-Embed, from the file vega.js that comes
/// with the tool. Throws MissingError, with what to do, where it is not there.
std::string vega_library();

/// `vega`: vega_library(); not needed where no section has a plot.
std::string html_report(std::span<const ReportSection> sections, std::string_view vega);

}  // namespace jitterscope

// What a command prints is Markdown, and a page shows it as it is meant.

namespace jitterscope::report {

/// Of text whose `<` and `&` are escaped already, so that nothing of a record becomes code: bold is bold, an
/// escaped bar is a bar, and columns stay below each other.
std::string marked_text(std::string_view escaped);

}  // namespace jitterscope::report

// A plot as a picture, drawn without a browser.

namespace jitterscope {

enum class PictureFormat { png, svg };
/// By how the file's name ends. Throws UsageError for another ending.
PictureFormat picture_format(const std::string& file);

/// The first of `pythons` (programs' names or paths) that has the package vl-convert. Throws MissingError,
/// with what to install, where none has.
std::string python_that_draws(const std::vector<std::string>& pythons);
/// By vl-convert, a package of `python`. Throws FailedError where it fails.
std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python);

}  // namespace jitterscope
