#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/plots.hpp"
#include "finding/finding.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/parse.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"

// Plots layers by their share of the time, with the rounds of a clicked one; sweeps; the roofline.

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostLayers = 40;      // bars that a page can show apart
constexpr std::size_t kRoundsOfLayer = 100;  // shown on a click
constexpr int kLongestLabel = 320;           // in pixels
constexpr int kRooflineHeight = 320;

struct LayerRows {
  Json bars = Json::array(), rounds = Json::array(), recorded = Json::array(), in_place = Json::array();
  std::vector<std::string> order;  // by share, the largest first
};

Nanoseconds first_time(const PlottedResult& result) {
  const auto measured = measurements_of(result);
  return measured.empty()
             ? Nanoseconds(0)
             : measured.front().measurement.time.median * static_cast<double>(result.entry.count);
}

std::vector<const PlottedResult*> slowest_first(const std::vector<PlottedResult>& results) {
  std::vector<const PlottedResult*> sorted;
  for (const PlottedResult& result : results) {
    if (first_time(result).value() > 0.0) sorted.push_back(&result);
  }
  std::ranges::stable_sort(sorted, [](const PlottedResult* first, const PlottedResult* second) {
    return first_time(*first) > first_time(*second);
  });
  return sorted;
}

// Samples the rounds evenly in order of their times, which keeps the shape of the distribution.
std::vector<Nanoseconds> some_rounds(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = first_settled_round(measurement); i < measurement.rounds.size(); ++i) {
    times.push_back(measurement.rounds[i].time());
  }
  if (times.size() <= kRoundsOfLayer) return times;
  std::ranges::sort(times);
  std::vector<Nanoseconds> some;
  for (std::size_t i = 0; i < kRoundsOfLayer; ++i) {
    some.push_back(times[i * (times.size() - 1) / (kRoundsOfLayer - 1)]);
  }
  return some;
}

std::map<std::string, Nanoseconds> totals_of(const std::vector<PlottedResult>& results) {
  std::map<std::string, Nanoseconds> totals;
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      totals[plotted.label] += plotted.measurement.time.median * static_cast<double>(result.entry.count);
    }
  }
  return totals;
}

// Returns "40 of 65 layers are drawn, the slowest; the other 25 take 8.1 % of the time."
std::string what_is_left_out(const std::vector<const PlottedResult*>& sorted,
                             const std::map<std::string, Nanoseconds>& totals) {
  std::map<std::string, Nanoseconds> left;
  for (const PlottedResult* result : std::span(sorted).subspan(kMostLayers)) {
    for (const PlottedMeasurement& plotted : measurements_of(*result)) {
      left[plotted.label] += plotted.measurement.time.median * static_cast<double>(result->entry.count);
    }
  }
  std::string shares;
  for (const auto& [label, time] : left) {
    shares += (shares.empty() ? "" : ", ") + percent_text(time / totals.at(label));
    if (left.size() > 1) shares += " (" + label + ")";
  }
  return fmt::format("The {} slowest of {} layers are drawn; the other {} take {} of the time.", kMostLayers,
                     sorted.size(), sorted.size() - kMostLayers, shares);
}

void add_layer(const PlottedResult& result, const std::map<std::string, Nanoseconds>& totals,
               const TimeUnit& unit, LayerRows& rows) {
  const double count = static_cast<double>(result.entry.count);
  rows.order.push_back(result.name);
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    const TimeEstimate& time = plotted.measurement.time;
    const double share = time.median * count / totals.at(plotted.label);
    rows.bars.push_back(Json{{"layer", result.name},
                             {"operation", to_string(result.entry.result.subject)},
                             {"conditions", plotted.label},
                             {"total", unit.of(time.median * count)},
                             {"share", rounded(share)},
                             {"share_shown", percent_text(share)},
                             {"calls", result.entry.count},
                             {"call", time_text(time.median, time.precision())}});
    const TimeUnit of_one = unit_for(time.median);
    for (const Nanoseconds round : some_rounds(plotted.measurement)) {
      rows.rounds.push_back(Json{{"layer", result.name},
                                 {"conditions", plotted.label},
                                 {"time", rounded(round.value() / 1e3)},
                                 {"shown", time_text(round, 1e-3)}});
    }
  }
  if (result.entry.recorded_time) {
    rows.recorded.push_back(
        Json{{"layer", result.name}, {"total", unit.of(*result.entry.recorded_time * count)}});
  }
}

// Places a share to the right of its layer's bars and ticks.
void place_shares(LayerRows& rows) {
  std::map<std::string, double> edges;
  for (const Json* drawn : {&rows.bars, &rows.recorded, &rows.in_place}) {
    for (const Json& row : *drawn) {
      double& edge = edges[row["layer"].get<std::string>()];
      edge = std::max(edge, row["total"].get<double>());
    }
  }
  for (Json& bar : rows.bars) bar["edge"] = edges.at(bar["layer"].get<std::string>());
}

// The height is fixed, because the record's ticks have no offset as bars have.
int rows_height(const LayerRows& rows) {
  const auto layers = static_cast<int>(rows.order.size()), bars = static_cast<int>(rows.bars.size());
  return std::max(60, std::max(18 * layers, 13 * bars));
}

Json bars_view(const LayerRows& rows, const TimeUnit& unit) {
  const auto ticks = [&](const char* name, const Json& data, std::string_view color, const char* what) {
    return filled(R"([{
      "name": "$name", "data": "$data", "mark": {"type": "tick", "color": "$color", "thickness": 3, "opacity": 1},
      "encoding": {"y": {"field": "layer:N", "sort": "$order"}, "x": "total:Q",
                   "tooltip": [["layer", "layer"], ["total", "$what, $unit"]]}
    }])",
                  "name", name, "data", data, "color", color, "what", what, "unit", unit.name, "order",
                  rows.order);
  };
  // The slowest layer is chosen until the user clicks.
  return filled(R"({
    "width": "$width", "height": "$height",
    "layer": [
      {"name": "layers", "data": "$bars", "mark": {"type": "bar", "cursor": "pointer"},
       "params": [{"name": "chosen", "select": {"type": "point", "fields": ["layer"]}, "value": [{"layer": "$slowest"}]}],
       "encoding": {
         "y": "$y", "x": {"field": "total:Q", "title": "time of all its calls, $unit"}, "yOffset": "$offset",
         "color": {"field": "conditions:N", "sort": null, "title": null, "scale": {"range": ["$blue", "$orange", "$green", "$grey"]}},
         "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.45},
         "tooltip": [["layer", "layer"], ["operation", "operation"], ["conditions", "conditions"], ["call", "one call"],
                     ["calls", "calls"], ["total", "all calls, $unit"], ["share_shown", "share of the total"]]}},
      {"name": "shares", "data": "$bars", "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 9},
       "encoding": {"y": "$y", "x": "edge:Q", "yOffset": "$offset", "color": {"value": "$grey"}, "text": "share_shown:N"}},
      "$recorded", "$in_place"
    ]
  })",
                "width", width_beside(rows.order, kLongestLabel), "height", rows_height(rows), "bars",
                rows.bars, "slowest", rows.order.front(), "y", names_axis("layer", rows.order, kLongestLabel),
                "unit", unit.name, "offset", filled(R"({"field": "conditions", "sort": null})"), "recorded",
                ticks("recorded", rows.recorded, kRed, "in the record that was read"), "in_place",
                ticks("in_place", rows.in_place, kPurple, "in the network"));
}

Json rounds_view(const LayerRows& rows) {
  return filled(R"({
    "title": {"text": "Rounds of the layer that was clicked", "subtitle": "none: of the first"},
    "width": "$width", "height": {"step": 26}, "data": "$rows", "name": "chosen_rounds",
    "transform": [{"filter": {"param": "chosen", "empty": false}}],
    "mark": {"type": "tick", "color": "$blue", "opacity": 0.7},
    "encoding": {"x": {"field": "time:Q", "title": "time of one call, µs", "scale": {"zero": false}},
                 "y": {"field": "conditions:N", "title": null, "sort": null},
                 "tooltip": [["layer", "layer"], ["conditions", "conditions"], ["shown", "round"]]}
  })",
                "width", width_beside(rows.order, kLongestLabel), "rows", rows.rounds);
}

}  // namespace

std::optional<Plot> layers_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::vector<const PlottedResult*> sorted = slowest_first(results);
  if (sorted.empty()) return std::nullopt;
  const std::map<std::string, Nanoseconds> totals = totals_of(results);
  const TimeUnit unit = unit_for(first_time(*sorted.front()));
  LayerRows rows;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostLayers); ++i)
    add_layer(*sorted[i], totals, unit, rows);
  for (const LayerInSequence& layer : layers_in_sequence(record)) {
    const std::string& name = results[layer.result].name;
    if (std::ranges::find(rows.order, name) == rows.order.end()) continue;
    rows.in_place.push_back(
        Json{{"layer", name}, {"total", unit.of(layer.in_place.median * static_cast<double>(layer.calls))}});
  }
  place_shares(rows);
  std::vector<TableColumn> table = columns_of(
      {"layer", "operation", "conditions", ">calls", ">one call", ">" + unit.axis("all calls"), ">share"});
  for (const Json& row : rows.bars) {
    add_row(table, {row["layer"].get<std::string>(), row["operation"].get<std::string>(),
                    row["conditions"].get<std::string>(), std::to_string(row["calls"].get<std::int64_t>()),
                    row["call"].get<std::string>(), cell(row["total"].get<double>()),
                    percent_text(row["share"].get<double>())});
  }
  std::string caption =
      "Bars: the time of one call measured alone, multiplied by its calls, with its share of the total. "
      "Click one for its rounds.";
  if (!rows.recorded.empty()) caption += " Red: in the record from PyTorch.";
  if (!rows.in_place.empty()) caption += " Purple: within the network (--in-sequence).";
  if (sorted.size() > kMostLayers) {
    caption += " " + what_is_left_out(sorted, totals);
  }
  Json view = bars_view(rows, unit);
  view["title"] = record.title;
  return Plot{.id = "layers",
              .title = "Layers by their time" + (record.title.empty() ? std::string() : ": " + record.title),
              .caption = std::move(caption),
              .spec = stacked_plots(Json::array({view, rounds_view(rows)})),
              .table = std::move(table)};
}

// Below: a sweep, operations that differ in a number, plotted against it.

namespace {

using Parameters = std::map<std::string, std::string>;

std::optional<Parameters> parameters_of(const Result& result) {
  Parameters parameters;
  if (const auto* callable = std::get_if<Callable>(&result.subject)) {
    if (callable->parameters.empty()) return std::nullopt;
    for (const Property& each : callable->parameters) parameters[each.key] = each.value;
    return parameters;
  }
  const Operation* operation = operation_of(result.subject);
  if (std::holds_alternative<Aten>(operation->parameters())) return std::nullopt;
  for (const ParameterValues& parameter : split_operation(operation->text()).parameters) {
    if (parameter.values.size() == 1) parameters[parameter.name] = parameter.values.front();
  }
  return parameters;
}

std::optional<double> number_in(const std::string& text) {
  double number = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The number with the most values. Everything else that differs names a line.
struct SweptParameter {
  std::string name;
  std::vector<double> at;           // for each result
  std::vector<std::string> series;  // for each result: "dtype=f16"; empty if nothing else differs
};

std::optional<SweptParameter> swept_parameter(const std::vector<PlottedResult>& results) {
  std::vector<Parameters> all;
  std::set<std::string_view> kinds;
  for (const PlottedResult& result : results) {
    const std::optional<Parameters> parameters = parameters_of(result.entry.result);
    if (!parameters) return std::nullopt;
    all.push_back(*parameters);
    const Operation* operation = operation_of(result.entry.result.subject);
    kinds.insert(operation != nullptr ? operation->kind() : "callable");
  }
  if (kinds.size() != 1) return std::nullopt;
  std::map<std::string, std::set<std::string>> values;
  for (const Parameters& parameters : all) {
    for (const auto& [name, value] : parameters) values[name].insert(value);
  }
  SweptParameter swept;
  std::size_t most = 1;
  for (const auto& [name, texts] : values) {
    const bool is_number = std::ranges::all_of(all, [&, key = name](const Parameters& parameters) {
      const auto found = parameters.find(key);
      return found != parameters.end() && number_in(found->second).has_value();
    });
    if (is_number && texts.size() > most) {
      most = texts.size();
      swept.name = name;
    }
  }
  if (most < 3) return std::nullopt;
  for (const Parameters& parameters : all) {
    swept.at.push_back(*number_in(parameters.at(swept.name)));
    std::string series;
    for (const auto& [name, value] : parameters) {
      if (name == swept.name || values[name].size() == 1) continue;
      series += (series.empty() ? "" : ", ") + name + "=" + value;
    }
    swept.series.push_back(series);
  }
  return swept;
}

Json rows_with(const Json& rows, const std::string& field) {
  Json with = Json::array();
  for (const Json& row : rows) {
    if (row.contains(field)) with.push_back(row);
  }
  return with;
}

// Extends intervals that reach 0 below all values, for a logarithmic axis. False if a time is not above 0.
bool make_room_for_logarithms(Json& rows) {
  double least = rows.front()["high"].get<double>();
  for (const Json& row : rows) {
    if (!(row["time"].get<double>() > 0.0)) return false;
    for (const char* field : {"low", "time"}) {
      if (row[field].get<double>() > 0.0) least = std::min(least, row[field].get<double>());
    }
  }
  for (Json& row : rows) {
    if (!(row["low"].get<double>() > 0.0)) row["low"] = rounded(least / 2.0);
  }
  return true;
}

Json line_view(const Json& rows, const Json& x, const Json& y, const Json& series, const Json& read,
               bool has_band) {
  // A line has a gap at rows without a value.
  const Json with_value = rows_with(rows, y["field"].get<std::string>());
  Json view = filled(R"({
    "height": 190, "data": "$rows",
    "layer": [
      "$band",
      {"mark": {"type": "line", "size": 2}, "encoding": {"x": "$x", "y": "$y", "color": "$series"}},
      {"name": "$points", "mark": {"type": "point", "filled": true, "size": 40},
       "encoding": {"x": "$x", "y": "$y", "color": "$series", "tooltip": "$read"}}
    ]
  })",
                     "rows", rows, "x", x, "y", y, "series", series, "read", read, "points",
                     has_band ? "times" : "points", "band",
                     has_band ? filled(R"({"name": "intervals", "mark": {"type": "area", "opacity": 0.25},
                                       "encoding": {"x": "$x", "y": "low:Q", "y2": "high", "color": "$series"}})",
                                       "x", x, "series", series)
                              : Json());
  if (with_value.size() < rows.size()) view["layer"].back()["data"] = Json{{"values", with_value}};
  return view;
}

// True if the values span a factor of 8 or more: they get a logarithmic axis.
bool is_geometric(std::vector<double> at) {
  std::ranges::sort(at);
  return at.front() > 0.0 && at.back() / at.front() >= 8.0;
}

}  // namespace

std::optional<Plot> sweep_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::optional<SweptParameter> swept = swept_parameter(results);
  if (!swept) return std::nullopt;
  const TimeUnit unit = unit_for(slowest_of(results));
  Json rows = Json::array();
  const bool has_flops = std::ranges::all_of(
      results, [](const PlottedResult& result) { return result.entry.result.flops > 0.0; });
  std::vector<TableColumn> table =
      columns_of({">" + swept->name, "series", ">time", ">rate", ">share of ceiling"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const PlottedMeasurement& plotted : measurements_of(results[i])) {
      const TimeEstimate& time = plotted.measurement.time;
      std::string series = plotted.label;
      if (!swept->series[i].empty()) series = swept->series[i] + "; " + series;
      Json row{{"at", swept->at[i]},
               {"series", series},
               {"time", unit.of(time.median)},
               {"low", unit.of(has_interval(time) ? time.low : time.median)},
               {"high", unit.of(has_interval(time) ? time.high : time.median)},
               {"shown", estimate_text(time)}};
      const Result& result = results[i].entry.result;
      const double work = has_flops ? result.flops : static_cast<double>(result.bytes.value());
      row["rate"] = work / to_seconds(time.median);
      const std::optional<AchievedRate> rate = achieved_rate(result, time.median, record);
      row["share_shown"] = rate ? share_text(*rate) : "";
      add_row(table, {cell(swept->at[i]), series, estimate_text(time),
                      rate_text(work / to_seconds(time.median), has_flops ? "FLOP/s" : "B/s"),
                      row["share_shown"].get<std::string>()});
      if (rate && rate->ceiling_share && !rate->is_above_ceiling()) {
        row["share"] = rounded(std::min(*rate->ceiling_share, 1.0));
      }
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return std::nullopt;
  double largest = 0.0;
  for (const Json& row : rows) largest = std::max(largest, row["rate"].get<double>());
  const bool has_rates = largest > 0.0;  // a callable's work is unknown
  const std::vector<std::string> shares = table.back().cells;
  const bool has_ceilings =
      std::ranges::any_of(shares, [](const std::string& each) { return !each.empty(); });
  const RateUnit rate_unit = rate_unit_for(largest, has_flops ? "FLOP/s" : "B/s");
  for (Json& row : rows) {
    if (has_rates) {
      row["rate"] = rate_unit.of(row["rate"].get<double>());
    } else {
      row.erase("rate");
    }
    if (!has_ceilings) row.erase("share_shown");
  }
  Json x = filled(R"({"field": "at:Q", "title": "$name", "scale": {"zero": false}})", "name", swept->name);
  if (is_geometric(swept->at)) x["scale"] = filled(R"({"type": "log", "base": 2, "nice": false})");
  const Json series = series_color("series", table[1].cells);
  Json read = channels(R"({"tooltip": [["at", "$name"], ["series", "of"], ["shown", "time"]]})", "name",
                       swept->name)["tooltip"];
  if (has_rates) read.push_back(Json{{"field", "rate"}, {"title", rate_unit.name}});
  if (has_ceilings) read.push_back(Json{{"field", "share_shown"}, {"title", "share of the ceiling"}});
  Json time_axis = filled(R"({"field": "time:Q", "title": "time of one launch, $unit"})", "unit", unit.name);
  if (is_geometric(swept->at) && make_room_for_logarithms(rows)) {
    time_axis["scale"] = filled(R"({"type": "log", "nice": false})");
  }
  Json views = Json::array({line_view(rows, x, time_axis, series, read, true)});
  if (has_rates) {
    const Json rate = filled(R"({"field": "rate:Q", "title": "$unit"})", "unit", rate_unit.name);
    views.push_back(line_view(rows, x, rate, series, read, false));
  }
  if (!rows_with(rows, "share").empty()) {
    const Json share =
        filled(R"({"field": "share:Q", "title": "share of ceiling", "axis": {"format": "~%"}})");
    views.push_back(line_view(rows, x, share, series, read, false));
  }
  std::string caption = "Bands: 95 % intervals of the median.";
  if (has_ceilings) caption += " Ceilings are the best rates measured on this device.";
  const std::string above = ceiling_words_explained(shares);
  if (!above.empty()) caption += " Times faster than their ceiling have no share; in the table, " + above;
  if (!has_ceilings) table.pop_back();
  if (!has_rates) table.erase(table.begin() + 3);
  return Plot{
      .id = "sweep",
      .title = "Against " + swept->name + (record.title.empty() ? std::string() : ": " + record.title),
      .caption = std::move(caption),
      .spec = stacked_plots(views),
      .table = std::move(table)};
}

// Below: rates against arithmetic intensity, under the ceilings measured on this device.

namespace {

struct Roof {
  std::string name;
  double flops_per_second = 0.0;
};

std::vector<Roof> roofs_of(const Ceilings& ceilings) {
  std::vector<Roof> roofs;
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (compute.flops_per_second > 0.0) {
      roofs.push_back({"ceiling " + std::string(to_string(compute.dtype)), compute.flops_per_second});
    }
  }
  return roofs;
}

// Draws memory's slope up to the ridge, then the compute ceiling; without ceilings only the slope.
Json roof_rows(const std::vector<Roof>& roofs, double bytes_per_second, double from, double to,
               const RateUnit& unit) {
  Json rows = Json::array();
  const auto add = [&](const std::string& roof, double intensity, double rate) {
    rows.push_back(Json{{"roof", roof}, {"intensity", rounded(intensity)}, {"rate", unit.of(rate)}});
  };
  if (roofs.empty()) {
    for (const double intensity : {from, to})
      add("ceiling of memory", intensity, intensity * bytes_per_second);
  }
  for (const Roof& roof : roofs) {
    const double ridge = roof.flops_per_second / bytes_per_second;
    for (const double intensity : {std::min(from, ridge), ridge, std::max(to, ridge)}) {
      const double rate = std::min(intensity * bytes_per_second, roof.flops_per_second);
      add(roof.name, intensity, rate);
    }
  }
  return rows;
}

double highest_rate(const std::vector<Roof>& roofs, const std::vector<PlottedResult>& results) {
  double highest = 0.0;
  for (const Roof& roof : roofs) highest = std::max(highest, roof.flops_per_second);
  if (!roofs.empty()) return highest;
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      highest = std::max(highest, result.entry.result.flops / to_seconds(plotted.measurement.time.median));
    }
  }
  return highest;
}

// A point of the roofline, and its name where there is room for it.
struct NamedPoint {
  std::string name;
  double x = 0.0, y = 0.0;  // in pixels
  double total = 0.0;       // time of all its calls
  Json row;
};

struct Box {
  double left, right, top, bottom;

  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

struct PlacedNames {
  Json right = Json::array(), left = Json::array();  // of their points
};

// Returns the value at a place on a logarithmic axis of so many pixels.
double value_at(double place, double from, double to, double pixels) {
  return from * std::pow(to / from, place / pixels);
}

// The part of the roofline that the axes show.
struct Shown {
  double from, to, low, high;  // intensities, and rates in the unit of the axis
};

// Names the points that take most of the time, each where it covers no other name and no point: beside its
// point, or above or below that with a line to it. A page that is narrower than a picture hides names that
// would meet.
PlacedNames placed_names(std::vector<NamedPoint> points, const Shown& shown) {
  constexpr std::size_t kMostNames = 12;
  constexpr double kLetter = 6.2, kHalfHeight = 7.0, kFromPoint = 9.0, kHalfPoint = 5.0, kStep = 13.0;
  std::vector<Box> taken;
  for (const NamedPoint& point : points)
    taken.push_back({point.x - kHalfPoint, point.x + kHalfPoint, point.y - kHalfPoint, point.y + kHalfPoint});
  std::ranges::stable_sort(points, std::greater(), &NamedPoint::total);
  std::set<std::string> named;
  PlacedNames placed;
  const auto place = [&](const NamedPoint& point, bool is_right, double shift) {
    const double width = kLetter * static_cast<double>(display_width(point.name));
    const double from_point = kFromPoint + std::abs(shift) / 2.0, y = point.y + shift;
    const double anchor = is_right ? point.x + from_point : point.x - from_point;
    const Box box{is_right ? anchor : anchor - width, is_right ? anchor + width : anchor, y - kHalfHeight,
                  y + kHalfHeight};
    const bool fits =
        box.left >= 0.0 && box.right <= kAxesWidth && box.top >= 0.0 && box.bottom <= kRooflineHeight;
    if (!fits || std::ranges::any_of(taken, [&](const Box& other) { return box.overlaps(other); }))
      return false;
    taken.push_back(box);
    Json row = point.row;
    row["name_intensity"] = rounded(value_at(anchor, shown.from, shown.to, kAxesWidth));
    row["name_rate"] = rounded(value_at(kRooflineHeight - y, shown.low, shown.high, kRooflineHeight));
    (is_right ? placed.right : placed.left).push_back(std::move(row));
    return true;
  };
  for (const NamedPoint& point : points) {
    if (placed.right.size() + placed.left.size() == kMostNames) break;
    if (!named.insert(point.name).second) continue;
    bool is_placed = false;
    for (int step = 0; step <= 6 && !is_placed; ++step) {
      for (const double shift : {-kStep * step, kStep * step})
        is_placed = is_placed || place(point, true, shift) || place(point, false, shift);
    }
  }
  return placed;
}

// Returns where a value lies on a logarithmic axis of so many pixels.
double place_on(double value, double from, double to, double pixels) {
  return to > from ? std::log(value / from) / std::log(to / from) * pixels : pixels / 2.0;
}

PlacedNames names_in(const Json& rows, double highest_ceiling, double from, double to) {
  double low = rows.front()["rate"].get<double>(), high = std::max(low, highest_ceiling);
  for (const Json& row : rows) {
    low = std::min(low, row["rate"].get<double>());
    high = std::max(high, row["rate"].get<double>());
  }
  std::vector<NamedPoint> points;
  for (const Json& row : rows) {
    points.push_back({row["operation"].get<std::string>(),
                      place_on(row["intensity"].get<double>(), from, to, kAxesWidth),
                      kRooflineHeight - place_on(row["rate"].get<double>(), low, high, kRooflineHeight),
                      row["total"].get<double>(), row});
  }
  return placed_names(std::move(points), {from, to, low, high});
}

// Returns the names on one side of their points, with a line to each.
Json names_layers(const char* side, const Json& rows) {
  const bool is_right = std::string_view(side) == "right";
  return filled(
      R"([
    {"name": "leaders_$side", "data": "$rows", "mark": {"type": "rule", "color": "$grey", "opacity": 0.6},
     "encoding": {"x": "name_intensity:Q", "y": "name_rate:Q", "x2": "intensity", "y2": "rate"}},
    {"name": "names_$side", "data": "$rows",
     "mark": {"type": "text", "align": "$align", "dx": "$shift", "fontSize": 11, "color": "$grey"},
     "encoding": {"x": "name_intensity:Q", "y": "name_rate:Q", "text": "operation:N"}}
  ])",
      "side", side, "rows", rows, "align", is_right ? "left" : "right", "shift", is_right ? 2 : -2);
}

}  // namespace

std::optional<Plot> roofline_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::vector<Roof> roofs = roofs_of(record.ceilings);
  if (!(record.ceilings.bytes_per_second.value_or(0.0) > 0.0)) return std::nullopt;
  const RateUnit unit = rate_unit_for(highest_rate(roofs, results), "FLOP/s");
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"operation", "conditions", ">FLOP per byte", ">rate"});
  double from = 0.0, to = 0.0;
  for (const PlottedResult& result : results) {
    const double flops = result.entry.result.flops,
                 bytes = static_cast<double>(result.entry.result.bytes.value());
    if (!(flops > 0.0) || !(bytes > 0.0)) continue;
    const double intensity = flops / bytes;
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      const double rate = flops / to_seconds(plotted.measurement.time.median);
      const double total =
          to_seconds(plotted.measurement.time.median) * static_cast<double>(result.entry.count);
      from = rows.empty() ? intensity : std::min(from, intensity);
      to = std::max(to, intensity);
      rows.push_back(Json{{"operation", result.name},
                          {"conditions", plotted.label},
                          {"intensity", rounded(intensity)},
                          {"rate", unit.of(rate)},
                          {"total", rounded(total * 1e3)},
                          {"shown", rate_text(rate, "FLOP/s")}});
      add_row(table, {result.name, plotted.label, cell(intensity), rate_text(rate, "FLOP/s")});
    }
  }
  if (rows.empty()) return std::nullopt;
  const PlacedNames names = names_in(rows, unit.of(highest_rate(roofs, results)), from / 2.0, to * 2.0);
  // Each condition has a mark of its own, hollow, so that none hides another.
  const Json view = filled(
      R"({
    "height": "$height",
    "layer": [
      {"name": "ceilings", "data": "$roof", "mark": {"type": "line", "color": "$grey", "size": 2},
       "encoding": {"x": "$x", "y": "$y", "strokeDash": {"field": "roof:N", "title": null},
                    "tooltip": [["roof", "measured here"], ["rate", "$unit"]]}},
      {"name": "operations", "data": "$rows", "mark": {"type": "point", "filled": false, "strokeWidth": 2, "opacity": 0.9},
       "encoding": {
         "x": "$x", "y": "$y", "color": "$color",
         "shape": {"field": "conditions:N", "title": null, "sort": null,
                   "scale": {"range": ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]}},
         "size": {"field": "total:Q", "title": "time of all calls, ms", "legend": null, "scale": {"range": [25, 300]}},
         "tooltip": [["operation", "operation"], ["conditions", "conditions"], ["shown", "rate"],
                     ["intensity", "FLOP per byte"], ["total", "time of all calls, ms"]]}},
      "$right", "$left"
    ]
  })",
      "height", kRooflineHeight, "rows", rows, "unit", unit.name, "color",
      series_color("conditions", table[1].cells), "roof",
      roof_rows(roofs, *record.ceilings.bytes_per_second, from / 2.0, to * 2.0, unit), "x",
      filled(R"({"field": "intensity:Q", "title": "arithmetic intensity, FLOP per byte that must move",
                         "scale": {"type": "log", "nice": false}})"),
      "y",
      filled(R"({"field": "rate:Q", "title": "$unit", "scale": {"type": "log", "nice": false}})", "unit",
             unit.name),
      "right", names_layers("right", names.right), "left", names_layers("left", names.left));
  return Plot{
      .id = "roofline",
      .title = "Roofline" + (record.title.empty() ? std::string() : ": " + record.title),
      .caption =
          std::string(
              roofs.empty()
                  ? "Grey: the best copy rate measured on this device; no product was measured."
                  : "Grey: the best rates measured on this device, for copies and for large products.") +
          " A point above the grey line has its operands in a cache. Larger points take more of the time; those "
          "that take most have names, all have them under the pointer and in the table.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace jitterscope::report
