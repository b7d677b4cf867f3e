// Rounds one after the other, over what the device's sensors said just behind each.
#include <fmt/format.h>

#include <algorithm>

#include "report/drawing.hpp"
#include "report/plots/marked_rounds.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

// More are drawn as the least and the most of rounds in a row: a page cannot show them apart.
constexpr std::size_t kMostRounds = 4000;

constexpr std::string_view kHardware = "hardware";

// What holds the clock down, as a colour: an idle GPU's and an application's own settings do not.
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

// Of so many rounds in a row the fastest and the slowest.
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
  Json x = quantity("second", is_last ? "since the measurement began, s" : "", not_from_zero());
  if (!is_last) x["axis"] = parsed(R"({"labels": false, "ticks": false, "title": null})");
  return x;
}

Json color_of(const Json& rows) {
  if (!is_held(rows)) return Json{{"value", kBlue}};
  return category("held_by", "clock held down by",
                  Json{{"scale",
                        {{"domain", {"free", kPowerCap, kThermal, kHardware}},
                         {"range", {kBlue, kOrange, kRed, kPink}}}}});
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
  return Json{
      {"height", 60},
      {"data", data_of(with_value)},
      {"name", panel.field},
      {"mark", {{"type", "line"}, {"color", panel.color}, {"point", {{"size", 12}, {"color", panel.color}}}}},
      {"encoding",
       {{"x", seconds_axis(is_last)},
        {"y", quantity(panel.field, panel.title,
                       parsed(R"({"scale": {"zero": false}, "axis": {"tickCount": 3}})"))},
        {"tooltip", tooltip({{"second", "s"}, {panel.field, panel.title}})}}}};
}

void add_views(const PlottedMeasurement& plotted, const std::vector<Json>& marks, const Json& mark_color,
               const Json& rows, const TimeUnit& unit, Json& views) {
  std::vector<Panel> panels;
  if (any_has(rows, "clock")) panels.push_back({"clock", "clock, MHz", kGrey});
  if (any_has(rows, "power")) panels.push_back({"power", "power, W", kOrange});
  if (any_has(rows, "temperature")) panels.push_back({"temperature", "°C", kRed});
  Json points{{"data", data_of(rows)},
              {"name", "rounds"},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 22}, {"opacity", 0.7}}},
              {"encoding",
               {{"x", seconds_axis(panels.empty())},
                {"y", quantity("time", unit.axis("time of one launch"), not_from_zero())},
                {"color", color_of(rows)},
                {"tooltip", tooltip({{"round", "round"},
                                     {"time", "median of its launches, " + unit.name},
                                     {"clock", "clock, MHz"},
                                     {"process", "process"},
                                     {"held_by", "clock held down by"}})}}}};
  Json layers = Json::array();
  if (!marks.empty()) layers.push_back(marks_layer(marks, mark_color, seconds_axis(panels.empty())));
  layers.push_back(points);
  const Measurement& measurement = plotted.measurement;
  if (measurement.steadiness && has_settled(measurement)) {
    const double second = rounded(to_seconds(measurement.rounds[first_settled_round(measurement)].started));
    layers.push_back(
        Json{{"data", data_of(Json::array({Json{{"second", second}}}))},
             {"name", "settled"},
             {"mark", {{"type", "rule"}, {"color", kGreen}, {"strokeDash", {4, 3}}, {"size", 2}}},
             {"encoding",
              {{"x", {{"field", "second"}, {"type", "quantitative"}}},
               {"tooltip", tooltip({{"second", "settled from here on, s"}})}}}});
  }
  Json view{{"title", plotted.label}, {"height", 150}, {"layer", layers}};
  // Lanes have no unit, and findings other colours than what held the clock down.
  if (!marks.empty()) view["resolve"] = parsed(R"({"scale": {"y": "independent", "color": "independent"}})");
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
  TableColumn conditions = text_column("conditions"), number = number_column("round"),
              second = number_column("started, s"), time = number_column("time"),
              clock = number_column("clock, MHz"), power = number_column("power, W"),
              temperature = number_column("°C"), held = text_column("clock held down by"),
              found = text_column("findings");
  bool is_thinned = false, is_marked = false;
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    const TimeUnit unit = unit_for(plotted.measurement.time.median);
    Json rows = Json::array();
    for (const CourseRow& row : rows_to_draw(plotted.measurement)) rows.push_back(row_of(row, unit));
    is_thinned = is_thinned || rows.size() < plotted.measurement.rounds.size();
    const std::vector<MarkedRounds> marked = findings_in(result.entry.result, plotted.measurement);
    is_marked = is_marked || !marked.empty();
    add_views(plotted, marked_rows(plotted.measurement, marked), mark_color, rows, unit, views);
    if (!marked.empty()) mark_color["legend"] = nullptr;  // the first stands for all
    for (const Json& row : rows) {
      const auto shown = [&](const char* field) {
        return row.contains(field) ? cell(row[field].get<double>()) : std::string();
      };
      conditions.cells.push_back(plotted.label);
      number.cells.push_back(std::to_string(row["round"].get<std::size_t>()));
      second.cells.push_back(shown("second"));
      time.cells.push_back(shown("time") + " " + unit.name);
      clock.cells.push_back(shown("clock"));
      power.cells.push_back(shown("power"));
      temperature.cells.push_back(shown("temperature"));
      held.cells.push_back(row["held_by"].get<std::string>());
      found.cells.push_back(findings_of(row["round"].get<std::size_t>() - 1, marked));
    }
  }
  if (views.empty()) return std::nullopt;
  std::string caption =
      "A point is a round: the median of launches in a row. Below it what the device's sensors said "
      "just behind the round.";
  if (is_marked) caption += " Bands: the rounds in which a finding happened.";
  if (is_thinned) caption += " Of rounds in a row the fastest and the slowest are drawn.";
  return Plot{.id = "rounds",
              .title = "Rounds over time: " + result.name,
              .caption = std::move(caption),
              .spec = stacked_plots(views),
              .table = {conditions, number, second, time, clock, power, temperature, held, found}};
}

}  // namespace jitterscope::report
