// Makes a page that shows records, as one file that loads nothing else, and pictures of plots.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// One record on a page.
struct ReportSection {
  std::string command;  ///< the command line
  Headline head;
  Text text;                ///< the command's output
  Text details;             ///< all that is known, folded; nothing if it is the same
  std::vector<Plot> plots;  ///< the main one first
};
/// Makes a section. Device, time and version become marks behind those of the headline.
ReportSection report_section(const Environment& environment, const std::string& device, Headline head,
                             Text text, Text details, std::vector<Plot> plots);
/// Columns for which ReportSection::text is laid out: tables of a page scroll.
inline constexpr std::size_t kSectionWidth = 1'000'000;

/// Returns the library that draws the plots (Vega with Vega-Lite and Vega-Embed) from the file vega.js that
/// comes with the tool. Throws MissingError, with a remedy, if the file is missing.
std::string vega_library();

/// `vega` is vega_library(); it may be empty if no section has a plot.
std::string html_report(std::span<const ReportSection> sections, std::string_view vega);

}  // namespace jitterscope

// Below: pictures of plots, drawn without a browser.

namespace jitterscope {

enum class PictureFormat { png, svg };
/// Returns the format by the file name's ending. Throws UsageError for another ending.
PictureFormat picture_format(const std::string& file);

/// Returns the first of `pythons` (names or paths of programs) that has the package vl-convert. Throws
/// MissingError, with a remedy, if none has it.
std::string python_that_draws(const std::vector<std::string>& pythons);
/// Draws with vl-convert, a package of `python`. Throws FailedError if that fails.
std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python);

}  // namespace jitterscope
