// Makes plots of records: Vega-Lite specifications that include the data that they draw.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "jitterscope/units.hpp"
#include "measure/run_record.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

struct Plot {
  std::string id;                  ///< kind of plot: distribution, rounds, layers…
  std::string title;               ///< plain text, like the caption: the quantity and the subject
  std::string caption;             ///< how to read it
  Json spec;                       ///< Vega-Lite 5; numbers have the units that the axes name
  std::vector<TableColumn> table;  ///< the drawn numbers, for reading
};

}  // namespace jitterscope

// Below: units, sizes, colours and parts of specifications that all plots share.

namespace jitterscope::report {

/// Widths in pixels: of a page without scrolling, and of a stacked view's axes without their labels.
inline constexpr int kPlotWidth = 820, kAxesWidth = 730;
/// These colours are visible on white and on black.
inline constexpr std::string_view kBlue = "#3f83c9", kOrange = "#e08a2e", kGrey = "#8a8f98", kRed = "#d1495b",
                                  kGreen = "#3a9d6b", kPurple = "#8e63c7", kTeal = "#23a3ad",
                                  kPink = "#cf6fae";

/// Unit for drawing times.
struct TimeUnit {
  std::string name;
  double nanoseconds = 1.0;

  double of(Nanoseconds time) const;
  /// Returns "time of one launch, µs".
  std::string axis(std::string_view of_what) const;
};
TimeUnit unit_for(Nanoseconds largest);

/// Unit for drawing rates: "TFLOP/s", 1e12.
struct RateUnit {
  std::string name;
  double per_second = 1.0;

  double of(double rate) const;
};
RateUnit rate_unit_for(double largest, std::string_view unit);

/// Rounds to six digits: more would only make files longer.
double rounded(double value);
/// Returns a ratio as a change in percent: 2 for 1.02.
double percent_change(double ratio);

/// Fills a piece of a specification: JSON in which "$name" stands for a value, or within a text for a word.
/// Inserted values are not parsed again, so that a record's contents are data and nothing else. Short forms:
/// - "field": "time:Q" or "name:N" also gives the type; a channel "time:Q" is {"field": "time:Q"}
/// - "tooltip": [["time", "time, $unit"]] has a field and its title each
/// - "data": "$rows" takes a list of rows; a layer without rows is left out
/// - a list takes the elements of "$layers", and leaves out null
/// - "$blue" and the other colours are known
Json filled_with(std::string_view piece, const Json& values);
inline void put_values(Json&) {}
template <class Value, class... More>
void put_values(Json& values, const char* name, const Value& value, const More&... more) {
  values[name] = value;
  put_values(values, more...);
}
/// Takes names and values in turn: filled(R"({"height": "$height"})", "height", 20).
template <class... NamesAndValues>
Json filled(std::string_view piece, const NamesAndValues&... names_and_values) {
  Json values = Json::object();
  put_values(values, names_and_values...);
  return filled_with(piece, values);
}
/// Fills the channels of an encoding.
template <class... NamesAndValues>
Json channels(std::string_view piece, const NamesAndValues&... names_and_values) {
  return filled("{\"encoding\": " + std::string(piece) + "}", names_and_values...)["encoding"];
}

/// Gives each series a colour, in the order of the names. The legend has as many columns as fit on the page.
Json series_color(std::string_view field, const std::vector<std::string>& names);
/// Draws rows with `low`, `high` and `change`: an interval and a point for each, over a line at no change.
/// `channels` has y, x (of "low"), color and tooltip.
Json effect_layers(const Json& rows, const Json& channels);

/// Returns the name on one line, with a number if `before` has it: equal names would share a row.
std::string name_apart(const std::string& name, const std::vector<std::string>& before);

/// Returns an axis of names in this order. Without it, each layer that shares the axis would sort on its own.
Json names_axis(std::string_view field, const std::vector<std::string>& in_order, int longest_label);
/// Returns the height of rows with these names, `step` pixels each. A view whose height is {"step": …} cannot
/// be fitted to a width without a warning from Vega-Lite.
int height_of(const std::vector<std::string>& names, int step);
/// Returns the width that such an axis leaves on a page, for a view in a stack.
int width_beside(const std::vector<std::string>& names, int longest_label);

/// Completes a specification: one view as wide as a page with its labels, or several views in a stack, whose
/// names get the view's number: rounds_1, rounds_2.
Json single_plot(const Json& view);
Json stacked_plots(Json views);

/// Formats a number for a table's cell with as many digits as are drawn.
std::string cell(double value);
/// Makes the columns of a table from headings; one that begins with > stands above numbers.
std::vector<TableColumn> columns_of(std::initializer_list<std::string_view> headings);
void add_row(std::vector<TableColumn>& columns, std::initializer_list<std::string_view> cells);

// Below: distributions of times, with bins, a tick for each round, the median with its interval, and modes.

/// Histogram of times: it keeps millions of times as a fixed number of bins.
struct Density {
  double low = 0.0, high = 0.0;  // in nanoseconds
  std::vector<double> shares;    // share of all times in each bin; bins have equal widths
  std::int64_t values = 0, outside = 0;

  double edge(std::size_t bin) const {
    return low + (high - low) * static_cast<double>(bin) / static_cast<double>(shares.size());
  }
};

/// Range of times in nanoseconds.
struct TimeRange {
  double low = 0.0, high = 0.0;

  void include(const TimeRange& other);
};

/// Returns the range of `always` and of all times but a few at either end, which would squeeze the rest.
TimeRange range_of(std::span<const double> sorted_times, std::span<const Nanoseconds> always);

/// Makes the histogram over a range with a margin. Bins are at least `narrowest` wide: if they were narrower
/// than a timer's grain, every other one would be empty.
Density density_of(std::span<const double> sorted_times, const TimeRange& range, double narrowest);

/// A round as its tick shows it.
struct DrawnRound {
  std::size_t number;
  Nanoseconds time;
};

/// Times under one set of conditions, or of one side of a comparison.
struct DrawnTimes {
  std::string title, subtitle;
  std::string of_what;  // counted in the bins: "launches"
  std::string bins;     // name of the bins' view
  Density density;
  std::vector<DrawnRound> rounds;
  TimeEstimate time;
  std::vector<Mode> modes;
};

/// Draws the bins, rounds, interval, median and modes.
Json distribution_view(const DrawnTimes& drawn, const TimeUnit& unit);

}  // namespace jitterscope::report
