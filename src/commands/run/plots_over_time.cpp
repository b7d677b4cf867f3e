#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/plots.hpp"
#include "measure/run_record.hpp"
#include "report/drawing.hpp"

// Plots rounds over time, with the rounds of findings as bands behind them.

namespace jitterscope::report {

/// Names of causes that hold a clock down: reasons of the device and findings share them, and their colours.
inline constexpr std::string_view kPowerCap = "power_cap", kThermal = "thermal";

/// A finding with its rounds in one measurement.
struct MarkedRounds {
  const Finding* finding;
  std::vector<RoundRange> rounds;
};
std::vector<MarkedRounds> findings_in(const Result& result, const Measurement& measurement);

/// Returns the bands; each finding has its own lane behind the points.
std::vector<Json> marked_rows(const Measurement& measurement, const std::vector<MarkedRounds>& marked);

/// Gives each of these findings a colour, the same on every page.
Json finding_color(const std::vector<std::string>& ids);

/// Draws bands over an axis of seconds: a list of one layer, or of none.
Json marks_layer(const std::vector<Json>& rows, const Json& color, Json x);

/// Returns the findings of a round: "drift, bimodal".
std::string findings_of(std::size_t round, const std::vector<MarkedRounds>& marked);

// Below: rounds in order, above the readings of the device's sensors right after each.

namespace {

// More rounds are drawn as the fastest and slowest of consecutive ones: a page cannot show all.
constexpr std::size_t kMostRounds = 4000;

constexpr std::string_view kHardware = "hardware";

// Returns what holds the clock down, for a colour. Ignores idling and settings of an application.
std::string held_by(const Round& round) {
  if (!round.sensors) return "free";
  for (const std::string& reason : round.sensors->clock_reasons) {
    if (reason == kPowerCap || reason == kThermal || reason == kHardware) return reason;
  }
  return "free";
}

struct CourseRow {
  std::size_t round = 0;
  const Round* taken = nullptr;
};

// Returns the fastest and the slowest of each group of consecutive rounds.
std::vector<CourseRow> rows_to_draw(const Measurement& measurement) {
  const std::vector<Round>& rounds = measurement.rounds;
  std::vector<CourseRow> rows;
  const std::size_t group =
      rounds.size() <= kMostRounds ? 1 : (2 * rounds.size() + kMostRounds - 1) / kMostRounds;
  for (std::size_t begin = 0; begin < rounds.size(); begin += group) {
    const std::size_t end = std::min(begin + group, rounds.size());
    std::size_t least = begin, most = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (rounds[i].time() < rounds[least].time()) least = i;
      if (rounds[i].time() > rounds[most].time()) most = i;
    }
    for (const std::size_t i : {std::min(least, most), std::max(least, most)}) {
      rows.push_back({i + 1, &rounds[i]});
      if (least == most) break;
    }
  }
  return rows;
}

Json row_of(const CourseRow& row, const TimeUnit& unit) {
  const Round& round = *row.taken;
  Json made{{"round", row.round},
            {"second", rounded(to_seconds(round.started))},
            {"time", unit.of(round.time())},
            {"held_by", held_by(round)},
            {"process", round.process + 1}};
  if (round.clock) made["clock"] = rounded(round.clock->value() / 1e6);
  if (round.sensors && round.sensors->power) made["power"] = rounded(round.sensors->power->value());
  if (round.sensors && round.sensors->temperature) {
    made["temperature"] = rounded(round.sensors->temperature->value());
  }
  return made;
}

bool any_has(const Json& rows, const char* field) {
  return std::ranges::any_of(rows, [&](const Json& row) { return row.contains(field); });
}
bool is_held(const Json& rows) {
  return std::ranges::any_of(rows, [](const Json& row) { return row.at("held_by") != "free"; });
}

Json seconds_axis(bool is_last) {
  if (is_last)
    return filled(
        R"({"field": "second:Q", "title": "since the measurement began, s", "scale": {"zero": false}})");
  return filled(R"({"field": "second:Q", "title": "", "scale": {"zero": false},
                    "axis": {"labels": false, "ticks": false, "title": null}})");
}

Json color_of(const Json& rows) {
  if (!is_held(rows)) return Json{{"value", kBlue}};
  return filled(R"({"field": "held_by:N", "title": "clock held down by",
    "scale": {"domain": ["free", "$power", "$thermal", "$hardware"], "range": ["$blue", "$orange", "$red", "$pink"]}})",
                "power", kPowerCap, "thermal", kThermal, "hardware", kHardware);
}

struct Panel {
  const char* field;
  const char* title;
  std::string_view color;
};

Json panel_view(const Json& rows, const Panel& panel, bool is_last) {
  Json with_value = Json::array();
  for (const Json& row : rows) {
    if (row.contains(panel.field))
      with_value.push_back(Json{{"second", row["second"]}, {panel.field, row[panel.field]}});
  }
  return filled(R"({
    "height": 60, "data": "$rows", "name": "$field",
    "mark": {"type": "line", "color": "$color", "point": {"size": 12, "color": "$color"}},
    "encoding": {"x": "$x", "y": {"field": "$field:Q", "title": "$title", "scale": {"zero": false}, "axis": {"tickCount": 3}},
                 "tooltip": [["second", "s"], ["$field", "$title"]]}
  })",
                "rows", with_value, "field", panel.field, "title", panel.title, "color", panel.color, "x",
                seconds_axis(is_last));
}

void add_views(const PlottedMeasurement& plotted, const std::vector<Json>& marks, const Json& mark_color,
               const Json& rows, const TimeUnit& unit, Json& views) {
  std::vector<Panel> panels;
  if (any_has(rows, "clock")) panels.push_back({"clock", "clock, MHz", kGrey});
  if (any_has(rows, "power")) panels.push_back({"power", "power, W", kOrange});
  if (any_has(rows, "temperature")) panels.push_back({"temperature", "°C", kRed});
  const Measurement& measurement = plotted.measurement;
  Json settled = Json::array();
  if (measurement.steadiness && has_settled(measurement)) {
    const Nanoseconds started = measurement.rounds[first_settled_round(measurement)].started;
    settled.push_back(Json{{"second", rounded(to_seconds(started))}});
  }
  Json view = filled(R"({
    "title": "$title", "height": 150,
    "layer": [
      "$marks",
      {"data": "$rows", "name": "rounds", "mark": {"type": "point", "filled": true, "size": 22, "opacity": 0.7},
       "encoding": {"x": "$x", "y": {"field": "time:Q", "title": "time of one launch, $unit", "scale": {"zero": false}},
                    "color": "$color",
                    "tooltip": [["round", "round"], ["time", "median of its launches, $unit"], ["clock", "clock, MHz"],
                                ["process", "process"], ["held_by", "clock held down by"]]}},
      {"data": "$settled", "name": "settled", "mark": {"type": "rule", "color": "$green", "strokeDash": [4, 3], "size": 2},
       "encoding": {"x": "second:Q", "tooltip": [["second", "settled from here on, s"]]}}
    ]
  })",
                     "title", plotted.label, "rows", rows, "x", seconds_axis(panels.empty()), "unit",
                     unit.name, "color", color_of(rows), "settled", settled, "marks",
                     marks_layer(marks, mark_color, seconds_axis(panels.empty())));
  // Lanes have no unit, and findings have other colours than causes that hold the clock down.
  if (!marks.empty()) view["resolve"] = filled(R"({"scale": {"y": "independent", "color": "independent"}})");
  views.push_back(std::move(view));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    views.push_back(panel_view(rows, panels[i], i + 1 == panels.size()));
  }
}

}  // namespace

std::optional<Plot> rounds_plot(const PlottedResult& result) {
  Json views = Json::array();
  std::vector<std::string> found_anywhere;
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    for (const MarkedRounds& marked : findings_in(result.entry.result, plotted.measurement)) {
      const std::string& id = marked.finding->id;
      if (std::ranges::find(found_anywhere, id) == found_anywhere.end()) found_anywhere.push_back(id);
    }
  }
  Json mark_color = finding_color(found_anywhere);
  std::vector<TableColumn> table = columns_of({"conditions", ">round", ">started, s", ">time", ">clock, MHz",
                                               ">power, W", ">°C", "clock held down by", "findings"});
  bool is_thinned = false, is_marked = false;
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    const TimeUnit unit = unit_for(plotted.measurement.time.median);
    Json rows = Json::array();
    for (const CourseRow& row : rows_to_draw(plotted.measurement)) rows.push_back(row_of(row, unit));
    is_thinned = is_thinned || rows.size() < plotted.measurement.rounds.size();
    const std::vector<MarkedRounds> marked = findings_in(result.entry.result, plotted.measurement);
    is_marked = is_marked || !marked.empty();
    add_views(plotted, marked_rows(plotted.measurement, marked), mark_color, rows, unit, views);
    if (!marked.empty()) mark_color["legend"] = nullptr;  // the first legend stands for all
    for (const Json& row : rows) {
      const auto shown = [&](const char* field) {
        return row.contains(field) ? cell(row[field].get<double>()) : std::string();
      };
      const auto round = row["round"].get<std::size_t>();
      add_row(table, {plotted.label, std::to_string(round), shown("second"), shown("time") + " " + unit.name,
                      shown("clock"), shown("power"), shown("temperature"), row["held_by"].get<std::string>(),
                      findings_of(round - 1, marked)});
    }
  }
  if (views.empty()) return std::nullopt;
  std::string caption =
      "A point is a round: the median of launches in a row. Below: the device's sensors just after the round.";
  if (is_marked) caption += " Bands: the rounds in which a finding happened.";
  if (is_thinned) caption += " Only the fastest and the slowest of neighbouring rounds are drawn.";
  return Plot{.id = "rounds",
              .title = "Rounds over time: " + result.name,
              .caption = std::move(caption),
              .spec = stacked_plots(views),
              .table = std::move(table)};
}

namespace {

// Bands reach halfway to the neighbouring rounds of the same process.
double begin_of(const std::vector<Round>& rounds, std::size_t round) {
  const bool is_first = round == 0 || rounds[round - 1].process != rounds[round].process;
  const Nanoseconds before = is_first ? rounds[round].started : rounds[round - 1].started;
  return rounded(to_seconds(before + rounds[round].started) / 2.0);
}
double end_of(const std::vector<Round>& rounds, std::size_t round) {
  const bool is_last = round + 1 == rounds.size() || rounds[round + 1].process != rounds[round].process;
  const Nanoseconds after =
      is_last ? rounds[round].started + rounds[round].time() : rounds[round + 1].started;
  return rounded(to_seconds(after + rounds[round].started) / 2.0);
}

// Findings of heat and power have the colour of the rounds whose clock they held down.
std::string_view color_of_finding(const std::string& id) {
  constexpr std::pair<std::string_view, std::string_view> kColors[] = {{kPowerCap, kOrange},
                                                                       {kThermal, kRed},
                                                                       {"drift", kPurple},
                                                                       {"bimodal", kGreen},
                                                                       {"no_steady_state", kTeal}};
  const auto found = std::ranges::find(kColors, id, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kColors) ? kGrey : found->second;
}

}  // namespace

std::vector<MarkedRounds> findings_in(const Result& result, const Measurement& measurement) {
  const auto number = static_cast<std::size_t>(&measurement - result.measurements.data());
  std::vector<MarkedRounds> marked;
  for (const Finding& finding : result.findings) {
    MarkedRounds here{&finding, {}};
    for (const FindingPlace& place : finding.places) {
      if (place.measurement != number) continue;
      for (const RoundRange& range : place.rounds) {
        if (range.first <= range.last && range.last < measurement.rounds.size()) here.rounds.push_back(range);
      }
    }
    if (!here.rounds.empty()) marked.push_back(std::move(here));
  }
  return marked;
}

std::vector<Json> marked_rows(const Measurement& measurement, const std::vector<MarkedRounds>& marked) {
  std::vector<Json> rows;
  const auto lanes = static_cast<double>(marked.size());
  for (std::size_t lane = 0; lane < marked.size(); ++lane) {
    for (const RoundRange& range : marked[lane].rounds) {
      // A range may reach into the next process, whose rounds began at the same times.
      for (std::size_t first = range.first; first <= range.last;) {
        std::size_t last = first;
        while (last < range.last &&
               measurement.rounds[last + 1].process == measurement.rounds[first].process) {
          ++last;
        }
        rows.push_back(Json{{"finding", marked[lane].finding->id},
                            {"headline", marked[lane].finding->headline},
                            {"from", begin_of(measurement.rounds, first)},
                            {"to", end_of(measurement.rounds, last)},
                            {"first", first + 1},
                            {"last", last + 1},
                            {"top", rounded(1.0 - static_cast<double>(lane) / lanes)},
                            {"bottom", rounded(1.0 - static_cast<double>(lane + 1) / lanes)}});
        first = last + 1;
      }
    }
  }
  return rows;
}

Json finding_color(const std::vector<std::string>& ids) {
  Json range = Json::array();
  for (const std::string& id : ids) range.push_back(color_of_finding(id));
  return filled(
      R"({"field": "finding:N", "title": "finding", "scale": {"domain": "$ids", "range": "$range"}})", "ids",
      ids, "range", range);
}

Json marks_layer(const std::vector<Json>& rows, const Json& color, Json x) {
  x["field"] = "from";
  Json edge = color;
  edge["legend"] = nullptr;
  return filled(R"([{
    "data": "$rows", "name": "findings", "mark": {"type": "rect", "opacity": 0.28, "strokeWidth": 1},
    "encoding": {"x": "$x", "x2": "to", "y2": "top", "y": {"field": "bottom:Q", "scale": {"domain": [0, 1]}, "axis": null},
                 "color": "$color", "stroke": "$edge",
                 "tooltip": [["finding", "finding"], ["headline", "what"], ["first", "from round"], ["last", "to round"]]}
  }])",
                "rows", rows, "x", x, "color", color, "edge", edge);
}

std::string findings_of(std::size_t round, const std::vector<MarkedRounds>& marked) {
  std::string text;
  for (const MarkedRounds& each : marked) {
    const bool holds = std::ranges::any_of(each.rounds, [round](const RoundRange& range) {
      return range.first <= round && round <= range.last;
    });
    if (holds) text += (text.empty() ? "" : ", ") + each.finding->id;
  }
  return text;
}

// Below: how the time follows the SM clock: t = a + b/f.

namespace {

constexpr int kFitPoints = 40;

double megahertz(Hertz clock) { return rounded(clock.value() / 1e6); }

Json fitted_line(const TimeAtReferenceClock& fit, double from, double to, const TimeUnit& unit) {
  Json rows = Json::array();
  const Nanoseconds at_reference = fit.time - fit.fixed_part;
  for (int i = 0; i <= kFitPoints; ++i) {
    const double clock = from + (to - from) * i / kFitPoints;
    rows.push_back(
        Json{{"clock", rounded(clock)},
             {"time", unit.of(fit.fixed_part + at_reference * (fit.reference.value() / 1e6 / clock))}});
  }
  return rows;
}

Json fit_view(const PlottedMeasurement& plotted, const Json& rounds, const TimeUnit& unit) {
  const TimeAtReferenceClock& fit = *plotted.measurement.at_reference_clock;
  double from = megahertz(fit.reference), to = from;
  for (const Json& round : rounds) {
    from = std::min(from, round["clock"].get<double>());
    to = std::max(to, round["clock"].get<double>());
  }
  const Json at_reference = {{"clock", megahertz(fit.reference)},
                             {"time", unit.of(fit.time)},
                             {"low", unit.of(fit.low)},
                             {"high", unit.of(fit.high)}};
  // A short interval has no height in pixels: square ends make it as high as it is wide.
  return filled(R"({
    "title": {"text": "$title", "subtitle": "$share of the time follows the clock, the rest does not"}, "height": 180,
    "layer": [
      {"data": "$rounds", "name": "rounds",
       "mark": {"type": "point", "filled": true, "size": 22, "opacity": 0.6, "color": "$blue"},
       "encoding": {"x": {"field": "clock:Q", "title": "SM clock, MHz", "scale": {"zero": false}},
                    "y": {"field": "time:Q", "title": "time of one launch, $unit", "scale": {"zero": false}},
                    "tooltip": [["clock", "SM clock, MHz"], ["time", "time, $unit"]]}},
      {"data": "$line", "name": "fit", "mark": {"type": "line", "color": "$green", "size": 2},
       "encoding": {"x": "clock:Q", "y": "time:Q"}},
      {"data": ["$reference"], "name": "reference",
       "mark": {"type": "rule", "color": "$red", "size": 4, "strokeCap": "square"},
       "encoding": {"x": "clock:Q", "y": "low:Q", "y2": "high",
                    "tooltip": [["clock", "reference clock, MHz"], ["time", "time, $unit"], ["low", "interval from"],
                                ["high", "to"]]}}
    ]
  })",
                "title", plotted.label, "share", percent_text(fit.clock_share), "unit", unit.name, "rounds",
                rounds, "line", fitted_line(fit, from, to, unit), "reference", at_reference);
}

}  // namespace

std::optional<Plot> clock_plot(const PlottedResult& result) {
  Json views = Json::array();
  std::vector<TableColumn> table = columns_of({"conditions", ">clock, MHz", ">time"});
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    if (!plotted.measurement.at_reference_clock) continue;
    const TimeUnit unit = unit_for(plotted.measurement.time.median);
    Json rounds = Json::array();
    const std::vector<Round>& all = plotted.measurement.rounds;
    for (std::size_t i = first_settled_round(plotted.measurement); i < all.size(); ++i) {
      const Round& round = all[i];
      if (!round.clock) continue;
      rounds.push_back(Json{{"clock", megahertz(*round.clock)}, {"time", unit.of(round.time())}});
      add_row(table,
              {plotted.label, cell(megahertz(*round.clock)), cell(unit.of(round.time())) + " " + unit.name});
    }
    if (!rounds.empty()) views.push_back(fit_view(plotted, rounds, unit));
  }
  if (views.empty()) return std::nullopt;
  return Plot{
      .id = "clock",
      .title = "Time against clock: " + result.name,
      .caption =
          "Green: the fit t = a + b/f over all rounds. Red: the time at the reference clock with its 95 "
          "% interval.",
      .spec = stacked_plots(views),
      .table = std::move(table)};
}

}  // namespace jitterscope::report
