// A page that shows records: one file, which asks for nothing else.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "report/plot.hpp"

namespace jitterscope {

/// One record on a page.
struct ReportSection {
  std::string heading;      ///< what was done: the command line
  std::string where;        ///< device, time, version
  std::string text;         ///< what the command line prints of it
  std::vector<Plot> plots;  ///< the main one first
};
ReportSection report_section(const AnyRecord& record);

/// The library that draws the plots, Vega with Vega-Lite and Vega-Embed, from the file vega.js that comes
/// with the tool. Throws MissingError, with what to do, where it is not there.
std::string vega_library();

/// `vega`: vega_library(); not needed where no section has a plot.
std::string html_report(std::span<const ReportSection> sections, std::string_view vega);

}  // namespace jitterscope
