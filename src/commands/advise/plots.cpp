#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/advise/record.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"

// Plots the path from the work as it is to the work with all remedies taken, and every remedy tried.

namespace jitterscope::report {
namespace {

using namespace study;

struct PathRow {
  std::string name;
  Nanoseconds before, after;  ///< equal for a level, different for a step
};

std::vector<PathRow> path_of(const AdviceRecord& record) {
  std::vector<PathRow> rows;
  for (const AdviceStep& step : record.steps) {
    const auto before = time_together(step.comparison, 0);
    if (!before) continue;
    if (rows.empty()) rows.push_back({"as it is", *before, *before});
    for (const TriedRemedy& remedy : step.remedies) {
      const auto after = time_together(step.comparison, alternative_of(step, remedy));
      if (remedy.outcome != Trying::taken || !after) continue;
      rows.push_back({remedy_name(remedy.study, remedy.arm), *before, *after});
    }
  }
  if (rows.size() > 1) rows.push_back({"with all of it", rows.back().after, rows.back().after});
  return rows;
}

std::optional<Plot> path_plot(const AdviceRecord& record) {
  const std::vector<PathRow> path = path_of(record);
  if (path.size() < 3) return std::nullopt;
  const TimeUnit unit = unit_for(path.front().before);
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"step", ">" + unit.axis("before"), ">" + unit.axis("after")});
  for (const PathRow& row : path) {
    const bool is_level = row.before == row.after;
    rows.push_back(Json{{"step", row.name},
                        {"from", is_level ? 0.0 : unit.of(row.before)},
                        {"to", unit.of(row.after)},
                        {"kind", is_level ? "time" : "gain"}});
    add_row(table, {row.name, cell(unit.of(row.before)), cell(unit.of(row.after))});
  }
  const Json view = filled(R"({
    "height": "$height", "data": "$rows",
    "layer": [
      {"name": "path", "mark": {"type": "bar", "opacity": 0.8},
       "encoding": {
         "y": {"field": "step:N", "title": null, "sort": null, "axis": {"labelLimit": 260}},
         "x": {"field": "from:Q", "title": "time, $unit"}, "x2": "to",
         "color": {"field": "kind:N", "title": null, "scale": {"domain": ["time", "gain"], "range": ["$blue", "$green"]}},
         "tooltip": [["step", "step"], ["from", "from"], ["to", "to"]]}}
    ]
  })",
                           "height", height_of(table[0].cells, 30), "rows", rows, "unit", unit.name);
  return Plot{
      .id = "path",
      .title = "From the time now to the time with all remedies: " + record.title,
      .caption =
          "Each remedy was tried together with those before it; green is the time that it saves. The "
          "last bar is the time after the last step. All together were measured once more; the text has "
          "that time.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

std::optional<Plot> remedies_plot(const AdviceRecord& record) {
  Json rows = Json::array();
  std::vector<std::string> names;
  std::vector<TableColumn> table = columns_of({">step", "remedy", ">change", ">error", "outcome"});
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    for (const TriedRemedy& remedy : record.steps[i].remedies) {
      if (remedy.outcome == Trying::failed) continue;
      const std::string name = remedy_name(remedy.study, remedy.arm);
      names.push_back(fmt::format("{}: {}", i + 1, name));
      rows.push_back(Json{{"row", names.back()},
                          {"change", percent_change(remedy.time.ratio)},
                          {"low", percent_change(remedy.time.low)},
                          {"high", percent_change(remedy.time.high)},
                          {"outcome", to_string(remedy.outcome)}});
      if (remedy.error) rows.back()["error"] = rounded(*remedy.error);
      add_row(table, {std::to_string(i + 1), name, change_with_interval(remedy.time),
                      remedy.error ? fmt::format("{:.1e}", *remedy.error) : "", to_string(remedy.outcome)});
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json layers = effect_layers(rows, channels(R"({
    "y": {"field": "row:N", "title": null, "sort": null, "axis": {"labelLimit": 260}},
    "x": {"field": "low:Q", "title": "change of the time, %", "scale": {"type": "symlog", "constant": 10},
          "axis": {"values": [-95, -80, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000, 5000], "labelOverlap": "greedy"}},
    "color": {"field": "outcome:N", "title": null,
              "scale": {"domain": ["taken", "beaten", "no gain", "slower", "too inexact", "wrong", "not compared"],
                        "range": ["$green", "$blue", "$grey", "$red", "$orange", "$red", "$orange"]}},
    "tooltip": [["row", "step: remedy"], ["change", "change, %"], ["low", "from"], ["high", "to"], ["error", "relative error"],
                ["outcome", "outcome"]]
  })"));
  return Plot{
      .id = "remedies",
      .title = "What each remedy gave: " + record.title,
      .caption =
          "Change of the time by each remedy, against the start of its step, with 95 % intervals; left "
          "of zero is faster.",
      .spec = single_plot(Json{{"height", height_of(names, 20)}, {"layer", layers}}),
      .table = std::move(table)};
}

}  // namespace

std::vector<Plot> plots_of(const AdviceRecord& record) {
  std::vector<Plot> plots;
  for (auto& plot : {path_plot(record), remedies_plot(record)}) {
    if (plot) plots.push_back(*plot);
  }
  return plots;
}

}  // namespace jitterscope::report
