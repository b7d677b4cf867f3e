// Operations that differ in more than a number, one below the other.
#include <algorithm>
#include <set>

#include "output/estimate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {

std::optional<Plot> times_plot(const std::vector<PlottedResult>& results) {
  const TimeUnit unit = unit_for(slowest_of(results));
  Json rows = Json::array();
  TableColumn names = text_column("operation"), conditions = text_column("conditions"),
              times = number_column("time");
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      const TimeEstimate& time = plotted.measurement.time;
      rows.push_back(Json{{"operation", result.name},
                          {"conditions", plotted.label},
                          {"time", unit.of(time.median)},
                          {"low", unit.of(has_interval(time) ? time.low : time.median)},
                          {"high", unit.of(has_interval(time) ? time.high : time.median)},
                          {"shown", estimate_text(time)}});
      names.cells.push_back(result.name);
      conditions.cells.push_back(plotted.label);
      times.cells.push_back(estimate_text(time));
    }
  }
  if (rows.empty()) return std::nullopt;
  const std::set<std::string> kinds(conditions.cells.begin(), conditions.cells.end());
  const auto conditions_drawn = static_cast<int>(kinds.size());
  const Json y =
      category("operation", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 300}})"));
  const Json offset = parsed(R"({"field": "conditions", "sort": null})");
  const Json color = series_color("conditions", conditions.cells);
  Json intervals{{"mark", {{"type", "rule"}, {"size", 3}, {"opacity", 0.5}}},
                 {"encoding", intervals_in_rows(y, offset, color)}};
  Json points{{"name", "times"},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
              {"encoding",
               {{"y", y},
                {"yOffset", offset},
                {"x", quantity("time", unit.axis("time of one launch"))},
                {"color", color},
                {"tooltip",
                 tooltip({{"operation", "operation"}, {"conditions", "conditions"}, {"shown", "time"}})}}}};
  return Plot{.id = "times",
              .title = "Times",
              .caption = "Points: medians. Bars: the intervals that hold them in 95 of 100 runs.",
              .spec = single_plot(Json{{"height", height_of(names.cells, 24 * conditions_drawn)},
                                       {"data", data_of(rows)},
                                       {"layer", {intervals, points}}}),
              .table = {names, conditions, times}};
}

}  // namespace jitterscope::report
