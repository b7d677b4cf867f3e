// A picture of a record: a specification of Vega-Lite, which says what is drawn and holds what it is drawn
// from.
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
  std::string id;                  ///< of its kind: distribution, rounds, layers…
  std::string title;               ///< plain text, as the caption: what it shows and of what
  std::string caption;             ///< how to read it
  Json spec;                       ///< of Vega-Lite 5; numbers in the units that the axes name
  std::vector<TableColumn> table;  ///< what is drawn, for those who read numbers
};

}  // namespace jitterscope

// What the plots have in common: units, sizes, colours, and specifications put together.

namespace jitterscope::report {

/// Pixels: of what a page shows without scrolling, and of a view's axes in a stack, whose labels come on top.
inline constexpr int kPlotWidth = 820, kAxesWidth = 730;
/// Both are seen on white and on black.
inline constexpr std::string_view kBlue = "#3f83c9", kOrange = "#e08a2e", kGrey = "#8a8f98", kRed = "#d1495b",
                                  kGreen = "#3a9d6b", kPurple = "#8e63c7", kTeal = "#23a3ad",
                                  kPink = "#cf6fae";

/// The unit that times are drawn in.
struct TimeUnit {
  std::string name;
  double nanoseconds = 1.0;

  double of(Nanoseconds time) const;
  /// "time of one launch, µs"
  std::string axis(std::string_view of_what) const;
};
TimeUnit unit_for(Nanoseconds largest);

/// The unit that rates are drawn in: "TFLOP/s", 1e12.
struct RateUnit {
  std::string name;
  double per_second = 1.0;

  double of(double rate) const;
};
RateUnit rate_unit_for(double largest, std::string_view unit);

/// Six digits: more would only make files longer.
double rounded(double value);
/// A ratio as a change in percent: 1.02 is 2.
double percent_change(double ratio);

/// A specification from its text, whose `data` are the rows.
Json parsed(std::string_view text);
Json data_of(Json rows);
/// {"field": field, "type": "quantitative", "title": title, …}
Json quantity(std::string_view field, std::string_view title, const Json& more = Json::object());
Json category(std::string_view field, std::string_view title, const Json& more = Json::object());
/// A colour for each of these series, in their order. Their legend has as many columns as a page has room
/// for: a row of many would end beyond it.
Json series_color(std::string_view field, const std::vector<std::string>& names);
/// Channels of rules from `low` to `high`, in the rows of `y`, those of one row beside each other.
Json intervals_in_rows(const Json& y, const Json& offset, const Json& color);
/// From the data, not from zero: what varies by a percent would be a line.
Json not_from_zero();
/// Tooltips show these fields under these titles.
Json tooltip(std::initializer_list<std::pair<std::string_view, std::string_view>> fields_and_titles);

/// Of rows with `low`, `high` and `change`: their intervals and a point in each, over a line at no change.
/// `x` is the axis, as quantity("low", …).
std::vector<Json> effect_layers(const Json& rows, const Json& y, const Json& x, const Json& color,
                                const Json& tips);

/// A name on one line, numbered where it is among those before it: two of one name would share a row.
std::string name_apart(const std::string& name, const std::vector<std::string>& before);

/// An axis of names, in this order: layers that share it would else each bring their own.
Json names_axis(std::string_view field, const std::vector<std::string>& in_order, int longest_label);
/// Of rows of these names, each as high as the others. A view whose height is {"step": …} cannot be fitted to
/// a width without a warning of Vega-Lite's.
int height_of(const std::vector<std::string>& names, int step);
/// What is left of a page beside such an axis, for a view in a stack.
int width_beside(const std::vector<std::string>& names, int longest_label);

/// The frame of a specification: one view, as wide as a page with its labels, or several below each other,
/// whose names get the view's number: rounds_1, rounds_2.
Json single_plot(const Json& view);
Json stacked_plots(Json views);

/// For a table's cells: as many digits as are drawn.
std::string cell(double value);
TableColumn text_column(std::string heading);
TableColumn number_column(std::string heading);

// How times are distributed: bins behind, a tick for each round, the median with its interval, modes.

/// Where times lie: millions of them are as many bins.
struct Density {
  double low = 0.0, high = 0.0;  // nanoseconds
  std::vector<double> shares;    // of all times; each bin as wide as the others
  std::int64_t values = 0, outside = 0;

  double edge(std::size_t bin) const {
    return low + (high - low) * static_cast<double>(bin) / static_cast<double>(shares.size());
  }
};

/// Ends in nanoseconds.
struct TimeRange {
  double low = 0.0, high = 0.0;

  void include(const TimeRange& other);
};

/// Of all times but the few at either end, which would press the others together, and of each of these.
TimeRange range_of(std::span<const double> sorted_times, std::span<const Nanoseconds> always);

/// Over a range, with room beside it, in bins of some width: in narrower ones than a timer's grain, every
/// other would be empty.
Density density_of(std::span<const double> sorted_times, const TimeRange& range, double narrowest);

/// A round as a tick reads it.
struct DrawnRound {
  std::size_t number;
  Nanoseconds time;
};

/// One set of conditions, or one side.
struct DrawnTimes {
  std::string title, subtitle;
  std::string of_what;  // the bins are of: "launches"
  std::string bins;     // the name of their view
  Density density;
  std::vector<DrawnRound> rounds;
  TimeEstimate time;
  std::vector<Mode> modes;
};

/// For the table behind: the least, 5, 25, 50, 75 and 95 % and the most, one column each.
std::vector<TableColumn> quantile_columns();

/// Views of the bins, rounds, interval, median and modes.
Json distribution_view(const DrawnTimes& drawn, const TimeUnit& unit);

}  // namespace jitterscope::report
