// The engines of an operation by their times, with how often PyTorch's autotune takes each.
#include <algorithm>
#include <set>

#include "base/quantity_text.hpp"
#include "measure/engine_ranking.hpp"
#include "output/estimate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {

std::vector<Plot> engines_plots(const EnginesRecord& record) {
  const EngineRanking& ranking = record.ranking;
  Nanoseconds slowest(0);
  for (const RankedEngine& engine : ranking.engines) {
    for (const Measurement& measurement : engine.result.measurements)
      slowest = std::max(slowest, measurement.time.median);
  }
  const TimeUnit unit = unit_for(slowest);
  Json rows = Json::array();
  TableColumn engines = text_column("engine"), caches = text_column("cache"), times = number_column("time"),
              shares = number_column("autotune takes it");
  for (const RankedEngine& engine : ranking.engines) {
    const std::optional<AutotuneShare> share = autotune_share(ranking, engine);
    const std::string taken = share ? percent_text(share->value) : engine.autotune_tries ? "" : "not tried";
    for (const Measurement& measurement : engine.result.measurements) {
      const TimeEstimate& time = measurement.time;
      rows.push_back(
          Json{{"engine", engine.engine.tag + (engine.engine.tag == ranking.heuristic ? " (PyTorch)" : "")},
               {"cache", to_string(measurement.conditions.cache)},
               {"time", unit.of(time.median)},
               {"low", unit.of(has_interval(time) ? time.low : time.median)},
               {"high", unit.of(has_interval(time) ? time.high : time.median)},
               {"shown", estimate_text(time)},
               {"share", share ? rounded(share->value) : 0.0},
               {"taken", taken}});
      engines.cells.push_back(rows.back()["engine"].get<std::string>());
      caches.cells.emplace_back(to_string(measurement.conditions.cache));
      times.cells.push_back(estimate_text(time));
      shares.cells.push_back(taken);
    }
  }
  if (rows.empty()) return {};
  const std::set<std::string> kinds(caches.cells.begin(), caches.cells.end());
  const auto caches_drawn = static_cast<int>(kinds.size());
  const Json y =
      category("engine", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 320}})"));
  const Json offset = parsed(R"({"field": "cache", "sort": null})");
  const Json color =
      category("cache", "",
               Json{{"title", nullptr}, {"sort", nullptr}, {"scale", {{"range", {kBlue, kOrange, kGreen}}}}});
  Json intervals{{"mark", {{"type", "rule"}, {"size", 2}}},
                 {"encoding", intervals_in_rows(y, offset, color)}};
  Json points{
      {"name", "engines"},
      {"mark", {{"type", "point"}, {"filled", true}}},
      {"encoding",
       {{"y", y},
        {"yOffset", offset},
        {"x", quantity("time", unit.axis("time of one launch"))},
        {"color", color},
        {"size", quantity("share", "autotune takes it",
                          parsed(R"({"legend": null, "scale": {"domain": [0, 1], "range": [30, 400]}})"))},
        {"tooltip", tooltip({{"engine", "engine"},
                             {"cache", "cache"},
                             {"shown", "time"},
                             {"taken", "autotune takes it"}})}}}};
  return {Plot{
      .id = "engines",
      .title = "Engines by time: " + ranking.operation,
      .caption =
          "Larger points: the more often PyTorch with benchmark on takes the engine. Bars: 95 % intervals.",
      .spec = single_plot(Json{{"height", height_of(engines.cells, 22 * caches_drawn)},
                               {"data", data_of(rows)},
                               {"layer", {intervals, points}}}),
      .table = {engines, caches, times, shares}}};
}

}  // namespace jitterscope::report
