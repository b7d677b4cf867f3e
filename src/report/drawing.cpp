#include "report/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "output/text.hpp"

namespace jitterscope::report {
namespace {

constexpr int kLongestLegend = 400;  // longest name, in pixels

}  // namespace

double TimeUnit::of(Nanoseconds time) const { return rounded(time.value() / nanoseconds); }

std::string TimeUnit::axis(std::string_view of_what) const { return fmt::format("{}, {}", of_what, name); }

TimeUnit unit_for(Nanoseconds largest) {
  const double value = std::abs(largest.value());
  if (value < 1e3) return {"ns", 1.0};
  if (value < 1e6) return {"µs", 1e3};
  if (value < 1e9) return {"ms", 1e6};
  return {"s", 1e9};
}

double RateUnit::of(double rate) const { return rounded(rate / per_second); }

RateUnit rate_unit_for(double largest, std::string_view unit) {
  if (largest < 1e9) return {fmt::format("M{}", unit), 1e6};
  if (largest < 1e12) return {fmt::format("G{}", unit), 1e9};
  return {fmt::format("T{}", unit), 1e12};
}

double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

double percent_change(double ratio) { return rounded((ratio - 1.0) * 100.0); }

namespace {

constexpr std::pair<std::string_view, std::string_view> kColors[] = {
    {"blue", kBlue},   {"orange", kOrange}, {"grey", kGrey}, {"red", kRed},
    {"green", kGreen}, {"purple", kPurple}, {"teal", kTeal}, {"pink", kPink}};

class Filler {
 public:
  explicit Filler(const Json& values) : values_(values) {}

  Json operator()(const Json& piece) const {
    if (piece.is_string()) return text(piece.get_ref<const std::string&>());
    if (piece.is_array()) return list(piece);
    return piece.is_object() ? object(piece) : piece;
  }

 private:
  static bool is_name(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; }

  Json value(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return *found;
    const auto color =
        std::ranges::find(kColors, name, &std::pair<std::string_view, std::string_view>::first);
    if (color == std::end(kColors)) throw std::logic_error("a piece of a plot names " + name);
    return color->second;
  }

  Json text(const std::string& piece) const {
    std::string made;
    for (std::size_t at = 0; at < piece.size();) {
      if (piece[at] != '$') {
        made += piece[at++];
        continue;
      }
      const auto end =
          std::find_if_not(piece.begin() + static_cast<std::ptrdiff_t>(at) + 1, piece.end(), is_name);
      const std::string name(piece.begin() + static_cast<std::ptrdiff_t>(at) + 1, end);
      if (at == 0 && end == piece.end()) return value(name);
      made += value(name).get<std::string>();
      at += name.size() + 1;
    }
    return made;
  }

  Json list(const Json& piece) const {
    Json made = Json::array();
    for (const Json& each : piece) {
      Json one = (*this)(each);
      if (one.is_array() && each.is_string()) {
        made.insert(made.end(), one.begin(), one.end());
      } else if (!one.is_null() && !is_without_rows(one)) {
        made.push_back(std::move(one));
      }
    }
    return made;
  }

  static bool is_without_rows(const Json& layer) {
    return layer.is_object() && layer.contains("data") && layer["data"]["values"].empty();
  }

  Json object(const Json& piece) const {
    Json made = Json::object();
    for (const auto& [key, each] : piece.items()) {
      if (key == "field") {
        put_field(each.get<std::string>(), made);
      } else if (key == "encoding" && each.is_object()) {
        for (const auto& [name, channel] : each.items()) made[key][name] = channel_of(name, channel);
      } else {
        made[key] = (*this)(each);
        if (key == "data" && made[key].is_array()) made[key] = Json{{"values", std::move(made[key])}};
      }
    }
    return made;
  }

  Json channel_of(const std::string& name, const Json& piece) const {
    Json made = Json::object();
    if (piece.is_string() && !piece.get_ref<const std::string&>().starts_with('$')) {
      put_field(piece.get<std::string>(), made);
      return made;
    }
    if (name != "tooltip" || !piece.is_array()) return (*this)(piece);
    made = Json::array();
    for (const Json& tip : piece)
      made.push_back(Json{{"field", (*this)(tip[0])}, {"title", (*this)(tip[1])}});
    return made;
  }

  void put_field(const std::string& piece, Json& made) const {
    const bool is_number = piece.ends_with(":Q"), is_name = piece.ends_with(":N");
    made["field"] = text(piece.substr(0, piece.size() - (is_number || is_name ? 2 : 0)));
    if (is_number || is_name) made["type"] = is_number ? "quantitative" : "nominal";
  }

  const Json& values_;
};

}  // namespace

Json filled_with(std::string_view piece, const Json& values) { return Filler(values)(Json::parse(piece)); }

Json series_color(std::string_view field, const std::vector<std::string>& names) {
  constexpr int kLetter = 8, kSymbol = 32, kTenColours = 10;
  const std::set<std::string> series(names.begin(), names.end());
  std::size_t longest = 0;
  for (const std::string& name : series) longest = std::max(longest, display_width(name));
  const int column = std::min(kLongestLegend, kLetter * static_cast<int>(longest)) + kSymbol;
  Json color = filled(R"({"field": "$field:N", "title": null, "sort": null})", "field", field);
  if (column * std::ssize(series) > kAxesWidth)
    color["legend"] = Json{{"columns", std::max(1, kAxesWidth / column)}};
  if (std::ssize(series) > kTenColours) color["scale"] = Json{{"scheme", "tableau20"}};
  return color;
}

namespace {

Json frame() {
  // The right of the padding is for an axis' last label.
  return filled(R"({
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "background": null,
    "padding": {"left": 5, "top": 5, "right": 18, "bottom": 5},
    "config": {
      "view": {"stroke": null},
      "axisX": {"labelFlush": false, "labelSeparation": 6},
      "axis": {"gridOpacity": 0.35, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
      "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "orient": "top",
                 "symbolOpacity": 1, "labelLimit": "$longest"},
      "title": {"anchor": "start", "frame": "group", "fontSize": 13, "subtitleFontSize": 12}
    }
  })",
                "longest", kLongestLegend);
}

// Numbers the views' names: views with the same name would draw the same data.
void number_names(Json& view, std::size_t number) {
  if (view.contains("name")) view["name"] = fmt::format("{}_{}", view["name"].get<std::string>(), number);
  if (!view.contains("layer")) return;
  for (Json& layer : view["layer"]) number_names(layer, number);
}

}  // namespace

Json effect_layers(const Json& rows, const Json& channels) {
  return filled(R"([
    {"data": [{"change": 0}], "mark": {"type": "rule", "color": "$grey"}, "encoding": {"x": "change:Q"}},
    {"name": "intervals", "data": "$rows", "mark": {"type": "rule", "size": 3},
     "encoding": {"y": "$y", "x": "$x", "x2": "high", "color": "$color", "tooltip": "$tooltip"}},
    {"name": "effects", "data": "$rows", "mark": {"type": "point", "filled": true, "size": 60},
     "encoding": {"y": "$y", "x": "change:Q", "color": "$color", "tooltip": "$tooltip"}}
  ])",
                "rows", rows, "y", channels["y"], "x", channels["x"], "color", channels["color"], "tooltip",
                channels["tooltip"]);
}

std::string name_apart(const std::string& name, const std::vector<std::string>& before) {
  std::string apart = one_line(name);
  for (int again = 2; std::ranges::find(before, apart) != before.end(); ++again) {
    apart = fmt::format("{} ({})", one_line(name), again);
  }
  return apart;
}

Json names_axis(std::string_view field, const std::vector<std::string>& in_order, int longest_label) {
  return filled(
      R"({"field": "$field:N", "title": null, "sort": "$names", "axis": {"labelLimit": "$longest", "title": null}})",
      "field", field, "names", in_order, "longest", longest_label);
}

int height_of(const std::vector<std::string>& names, int step) {
  return step * static_cast<int>(std::set<std::string>(names.begin(), names.end()).size());
}

int width_beside(const std::vector<std::string>& names, int longest_label) {
  constexpr int kLetter = 8, kTick = 12;  // widths in pixels; a letter of 12 pixels' height has at most 8
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, display_width(name));
  return kPlotWidth - kTick - std::min(longest_label, kLetter * static_cast<int>(longest));
}

Json single_plot(const Json& view) {
  Json spec = frame();
  spec["width"] = kPlotWidth;
  spec["autosize"] = Json{{"type", "fit-x"}, {"contains", "padding"}};
  spec.update(view);
  return spec;
}

Json stacked_plots(Json views) {
  if (views.size() == 1) {
    views.front().erase("width");  // for stacks; alone, a view is as wide as the page
    return single_plot(views.front());
  }
  Json spec = frame();
  std::size_t number = 0;
  for (Json& view : views) {
    if (!view.contains("width")) view["width"] = kAxesWidth;
    number_names(view, ++number);
  }
  spec["vconcat"] = std::move(views);
  return spec;
}

std::string cell(double value) { return fmt::format("{:.6g}", value); }

std::vector<TableColumn> columns_of(std::initializer_list<std::string_view> headings) {
  std::vector<TableColumn> columns;
  for (std::string_view heading : headings) {
    const bool is_number = heading.starts_with('>');
    columns.push_back(
        {std::string(heading.substr(is_number ? 1 : 0)), is_number ? Align::right : Align::left, {}});
  }
  return columns;
}

void add_row(std::vector<TableColumn>& columns, std::initializer_list<std::string_view> cells) {
  auto column = columns.begin();
  for (const std::string_view each : cells) (column++)->cells.emplace_back(each);
}

namespace {

constexpr int kBins = 60, kHeight = 130, kTickHeight = 14;
constexpr double kOutside = 0.005;  // share of the times left out at either end

Json bins_of(const Density& density, const TimeUnit& unit) {
  Json rows = Json::array();
  for (std::size_t bin = 0; bin < density.shares.size(); ++bin) {
    rows.push_back(Json{{"from", unit.of(Nanoseconds(density.edge(bin)))},
                        {"to", unit.of(Nanoseconds(density.edge(bin + 1)))},
                        {"share", rounded(density.shares[bin])}});
  }
  return rows;
}

Json rounds_of(const DrawnTimes& drawn, const TimeUnit& unit) {
  Json rows = Json::array();
  for (const DrawnRound& round : drawn.rounds) {
    rows.push_back(Json{{"round", round.number}, {"time", unit.of(round.time)}});
  }
  return rows;
}

}  // namespace

void TimeRange::include(const TimeRange& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

TimeRange range_of(std::span<const double> sorted_times, std::span<const Nanoseconds> always) {
  const auto outside = static_cast<std::size_t>(kOutside * static_cast<double>(sorted_times.size()));
  TimeRange range{sorted_times[outside], sorted_times[sorted_times.size() - 1 - outside]};
  for (const Nanoseconds time : always) range.include({time.value(), time.value()});
  return range;
}

Density density_of(std::span<const double> sorted_times, const TimeRange& range, double narrowest) {
  Density density;
  const double margin = std::max((range.high - range.low) * 0.02, range.high * 1e-6);
  density.low = range.low - margin;
  density.high = range.high + margin;
  // NaN if the record holds times that are not finite.
  const double most = (density.high - density.low) / narrowest;
  const auto bins = static_cast<std::size_t>(most >= 1.0       ? std::min<double>(most, kBins)
                                             : narrowest > 0.0 ? 1
                                                               : kBins);
  density.shares.assign(bins, 0.0);
  density.values = std::ssize(sorted_times);
  for (const double time : sorted_times) {
    const double place = (time - density.low) / (density.high - density.low);
    if (!(place >= 0.0 && place < 1.0)) {
      ++density.outside;
      continue;
    }
    density.shares[static_cast<std::size_t>(place * static_cast<double>(bins))] +=
        1.0 / static_cast<double>(sorted_times.size());
  }
  return density;
}

Json distribution_view(const DrawnTimes& drawn, const TimeUnit& unit) {
  Json interval = Json::array(), modes = Json::array();
  if (has_interval(drawn.time))
    interval.push_back(Json{{"low", unit.of(drawn.time.low)}, {"high", unit.of(drawn.time.high)}});
  for (const Mode& mode : drawn.modes)
    modes.push_back(Json{{"mode", unit.of(mode.location)}, {"weight", rounded(mode.weight)}});
  if (modes.size() < 2) modes.clear();
  return filled(R"({
    "title": {"text": "$title", "subtitle": "$subtitle"}, "height": "$height",
    "layer": [
      {"name": "$bins_name", "data": "$bins", "mark": {"type": "bar", "color": "$blue", "opacity": 0.45, "binSpacing": 0},
       "encoding": {
         "x": {"field": "from:Q", "title": "time of one launch, $unit", "bin": "binned", "scale": {"zero": false}}, "x2": "to",
         "y": {"field": "share:Q", "title": "share of $what", "axis": {"format": "~%", "tickCount": 3}},
         "tooltip": [["from", "from, $unit"], ["to", "to, $unit"], ["share", "share of $what"]]}},
      {"name": "rounds", "data": "$rounds",
       "mark": {"type": "tick", "color": "$orange", "opacity": 0.7, "thickness": 1.5, "size": "$tick"},
       "encoding": {"x": "time:Q", "y": {"value": "$tick_middle"},
                    "tooltip": [["round", "round"], ["time", "median of its launches, $unit"]]}},
      {"name": "interval", "data": "$interval",
       "mark": {"type": "rect", "color": "$green", "opacity": 0.25, "stroke": "$green", "strokeWidth": 1},
       "encoding": {"x": "low:Q", "x2": "high", "tooltip": [["low", "interval from, $unit"], ["high", "to, $unit"]]}},
      {"name": "median", "data": [{"median": "$median"}], "mark": {"type": "rule", "color": "$green", "size": 2},
       "encoding": {"x": "median:Q", "tooltip": [["median", "median, $unit"]]}},
      {"name": "modes", "data": "$modes", "mark": {"type": "rule", "color": "$red", "strokeDash": [4, 3]},
       "encoding": {"x": "mode:Q", "tooltip": [["mode", "mode at, $unit"], ["weight", "share of $what"]]}}
    ]
  })",
                "title", drawn.title, "subtitle", drawn.subtitle, "height", kHeight, "unit", unit.name,
                "what", drawn.of_what, "bins_name", drawn.bins, "bins", bins_of(drawn.density, unit),
                "rounds", rounds_of(drawn, unit), "tick", kTickHeight, "tick_middle",
                kHeight - kTickHeight / 2, "interval", interval, "median", unit.of(drawn.time.median),
                "modes", modes);
}

}  // namespace jitterscope::report
