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
  TableColumn steps = text_column("step"), before = number_column(unit.axis("before")),
              after = number_column(unit.axis("after"));
  for (const PathRow& row : path) {
    const bool is_level = row.before == row.after;
    rows.push_back(Json{{"step", row.name},
                        {"from", is_level ? 0.0 : unit.of(row.before)},
                        {"to", unit.of(row.after)},
                        {"kind", is_level ? "time" : "gain"}});
    steps.cells.push_back(row.name);
    before.cells.push_back(cell(unit.of(row.before)));
    after.cells.push_back(cell(unit.of(row.after)));
  }
  Json bars{
      {"name", "path"},
      {"mark", {{"type", "bar"}, {"opacity", 0.8}}},
      {"encoding",
       {{"y", category("step", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 260}})"))},
        {"x", quantity("from", unit.axis("time"))},
        {"x2", {{"field", "to"}}},
        {"color", category("kind", "",
                           Json{{"title", nullptr},
                                {"scale", {{"domain", {"time", "gain"}}, {"range", {kBlue, kGreen}}}}})},
        {"tooltip", tooltip({{"step", "step"}, {"from", "from"}, {"to", "to"}})}}}};
  return Plot{
      .id = "path",
      .title = "From the time now to the time with all remedies: " + record.title,
      .caption =
          "Each remedy was tried together with those before it; green is the time that it saves. The "
          "last bar is the time after the last step. All together were measured once more; the text has "
          "that time.",
      .spec = single_plot(
          Json{{"height", height_of(steps.cells, 30)}, {"data", data_of(rows)}, {"layer", {bars}}}),
      .table = {steps, before, after}};
}

std::optional<Plot> remedies_plot(const AdviceRecord& record) {
  Json rows = Json::array();
  std::vector<std::string> names;
  TableColumn steps = number_column("step"), remedies = text_column("remedy"),
              changes = number_column("change"), errors = number_column("error"),
              outcomes = text_column("outcome");
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
      steps.cells.push_back(std::to_string(i + 1));
      remedies.cells.push_back(name);
      changes.cells.push_back(change_with_interval(remedy.time));
      errors.cells.push_back(remedy.error ? fmt::format("{:.1e}", *remedy.error) : "");
      outcomes.cells.emplace_back(to_string(remedy.outcome));
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json y = category("row", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 260}})"));
  const Json color = category(
      "outcome", "",
      Json{{"title", nullptr},
           {"scale",
            {{"domain", {"taken", "beaten", "no gain", "slower", "too inexact", "wrong", "not compared"}},
             {"range", {kGreen, kBlue, kGrey, kRed, kOrange, kRed, kOrange}}}}});
  const Json scale = parsed(R"({"scale": {"type": "symlog", "constant": 10},
    "axis": {"values": [-95, -80, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000, 5000], "labelOverlap": "greedy"}})");
  const std::vector<Json> layers =
      effect_layers(rows, y, quantity("low", "change of the time, %", scale), color,
                    tooltip({{"row", "step: remedy"},
                             {"change", "change, %"},
                             {"low", "from"},
                             {"high", "to"},
                             {"error", "relative error"},
                             {"outcome", "outcome"}}));
  return Plot{
      .id = "remedies",
      .title = "What each remedy gave: " + record.title,
      .caption =
          "Change of the time by each remedy, against the start of its step, with 95 % intervals; left "
          "of zero is faster.",
      .spec = single_plot(Json{{"height", height_of(names, 20)}, {"layer", layers}}),
      .table = {steps, remedies, changes, errors, outcomes}};
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
